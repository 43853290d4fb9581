"""A token endpoint as those of Microsoft and Google: it gives tokens, and refuses as they do."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from typing import Any, Self
from urllib.parse import parse_qs

from tests.servers.web import Answer, Asked, misbehaving_server

CLIENT_SECRET = "secret-of-the-client"


def in_json(status: int = 200, **body: Any) -> Answer:
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})


def refusal(error: str, description: str = "", status: int = 400) -> Answer:
    return in_json(status, error=error, error_description=description)


@dataclass
class TokenServer:
    """`script` holds answers to give first; `down` refuses everything with 500."""

    life: int = 3600
    single_use: bool = False  # a refresh token that was used is refused from then on
    down: bool = False
    ahead: float = 0.0  # of its clock, seconds
    script: deque[Answer] = field(default_factory=deque)
    asked: list[dict[str, str]] = field(default_factory=list)
    issued: list[str] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    refresh_tokens: set[str] = field(default_factory=set)
    spent: set[str] = field(default_factory=set)
    codes: dict[str, str] = field(default_factory=dict)  # and what has to come with them

    def __enter__(self) -> Self:
        self._running = misbehaving_server()
        web = self._running.__enter__()
        web.decides("*", self._answer_now)
        self.url = web.url("/token")
        return self

    def __exit__(self, *reason: Any) -> None:
        self._running.__exit__(*reason)

    def _answer_now(self, request: Asked) -> Answer:
        form = {k: v[0] for k, v in parse_qs(request.body.decode()).items()}
        answer = self.answer(request.target, form)
        date = formatdate(time.time() + self.ahead, usegmt=True)
        return replace(answer, headers={"Date": date, **answer.headers})

    def accepts(self, token: str) -> bool:
        return token in self.issued and token not in self.ended

    def answer(self, path: str, form: Mapping[str, str]) -> Answer:
        self.asked.append(dict(form))
        if self.script:
            return self.script.popleft()
        if self.down:
            return Answer(500, b"<html>Internal Server Error</html>")
        if path == "/devicecode":
            self.codes["device-code"] = ""
            return in_json(
                device_code="device-code",
                user_code="ABCD-EFGH",
                verification_uri="https://microsoft.com/devicelogin",
                expires_in=900,
                interval=0,
            )
        match form.get("grant_type"):
            case "client_credentials" if form.get("client_secret") != CLIENT_SECRET:
                return refusal("invalid_client", "AADSTS7000215: Invalid client secret.", 401)
            case "client_credentials" | "urn:ietf:params:oauth:grant-type:jwt-bearer":
                return self._token()
            case "refresh_token" if form.get("refresh_token") not in self.refresh_tokens:
                return refusal("invalid_grant", "AADSTS50173: The grant has been revoked.")
            case "refresh_token":
                fresh = self._rotated()
                if self.single_use:
                    self.spent.add(form["refresh_token"])
                    self.refresh_tokens -= self.spent
                return self._token(fresh)
            case "urn:ietf:params:oauth:grant-type:device_code" | "authorization_code":
                challenge = self.codes.get(form.get("device_code") or form.get("code", ""))
                proof = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
                proved = base64.urlsafe_b64encode(proof).decode().rstrip("=")
                if challenge is None or (challenge and challenge != proved):
                    return refusal("invalid_grant")
                return self._token(self._rotated())
        return refusal("unsupported_grant_type")

    def _rotated(self) -> str:
        name = f"refresh-token-{len(self.refresh_tokens | self.spent) + 1}"
        self.refresh_tokens.add(name)
        return name

    def _token(self, refresh_token: str = "") -> Answer:
        token = f"access-token-{len(self.issued) + 1}"
        self.issued.append(token)
        more = {"refresh_token": refresh_token} if refresh_token else {}
        return in_json(access_token=token, token_type="Bearer", expires_in=self.life, **more)
