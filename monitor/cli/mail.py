"""`mail login`: the consent that lets the program send mail from an account."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from functools import partial

import typer

from monitor.channels.email.channel import SMTP_SERVER
from monitor.channels.email.oauth import (
    REDIRECT,
    TokenError,
    Tokens,
    await_device_login,
    consent_address,
    redeem_address,
    request_device_code,
)
from monitor.cli.opening import open_configured
from monitor.cli.options import Call, finish
from monitor.errors import UsageError
from monitor.pipeline.runtime import Runtime


def mail_login(call: Call) -> None:
    say = partial(typer.echo, err=call.as_json)
    ask = partial(typer.prompt, err=call.as_json)
    with open_configured(call) as app:
        missing = log_in(app.runtime, say, ask)
    text = f"Still missing: {missing}" if missing else "The mail server accepts the login."
    call.answer({"ok": not missing, "missing": missing or None}, text)
    finish(not missing)


def log_in(
    runtime: Runtime,
    say: Callable[[str], None],
    ask: Callable[[str], str],
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Log in, and try the login; return what is still missing, or "". Raises UsageError."""
    tokens = runtime.tokens
    if tokens is None:
        raise UsageError("smtp: has no oauth:", "docs/mail/ has a page for each provider")
    if not tokens.settings.needs_login:
        raise UsageError(
            "this account needs no login: the program has a permission of its own",
            "`paper-monitor doctor` tries it",
        )
    try:
        if tokens.settings.provider == "microsoft":
            _by_device(tokens, say, sleep)
        elif tokens.settings.provider == "google":
            _by_pasted_address(tokens, say, ask)
        else:
            raise UsageError(
                "there is no login for provider: other", "set smtp.oauth.refresh_token"
            )
    except TokenError as error:
        raise UsageError(str(error)) from None
    say(f"Logged in as {tokens.mailbox}. The refresh token is in the store.")
    return next(
        channel.check()
        for channel in runtime.channels.values()
        if channel.outage_group == SMTP_SERVER
    )


def _by_device(tokens: Tokens, say: Callable[[str], None], sleep: Callable[[float], None]) -> None:
    say(
        "The application needs, in the Microsoft Entra admin centre, the delegated permission\n"
        "SMTP.Send and `Allow public client flows`."
    )
    code = request_device_code(tokens)
    say(f"Open {code.verification_uri}\nand enter the code {code.user_code}")
    say(f"Log in as {tokens.mailbox}. Waiting ...")
    await_device_login(tokens, code, sleep)


def _by_pasted_address(
    tokens: Tokens, say: Callable[[str], None], ask: Callable[[str], str]
) -> None:
    verifier = secrets.token_urlsafe(48)
    state = secrets.token_urlsafe(16)
    say(
        "The client needs, in the Google Cloud console, the type `Desktop app`, and the scope\n"
        "https://mail.google.com/ on its consent screen."
    )
    say(f"Open this address in any browser:\n\n{consent_address(tokens, verifier, state)}\n")
    say(
        f"Log in as {tokens.mailbox}. The browser then cannot open an address that begins\n"
        f"with {REDIRECT}: that is as it should be. Copy the whole address from its address bar."
    )
    redeem_address(tokens, ask("The address"), verifier, state)
