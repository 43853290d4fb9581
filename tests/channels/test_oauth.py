"""Mail accounts without a password: tokens are got, renewed and refused."""

import base64
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from monitor.channels.email.oauth import TokenError, Tokens
from monitor.channels.email.settings import OAuthSettings, SmtpSettings
from monitor.channels.email.smtp import Letter, SmtpServer
from monitor.http.client import HttpClient
from monitor.model import DeliveryState, Outcome
from tests.channels.samples import Commit
from tests.servers.oauth import CLIENT_SECRET, TokenServer, refusal
from tests.servers.smtp import ScriptedSmtp, closed_port, in_thread
from tests.servers.web import Answer

MAILBOX = "papers@example.org"
REFRESH_TOKEN = "refresh-token-1"
SECRETS = (CLIENT_SECRET, "access-token", "refresh-token", "hush-4711")


class Kept(dict[str, str]):
    """Refresh tokens in memory, as the store keeps them."""

    save = dict.__setitem__

    def load(self, account: str) -> str:
        return self.get(account, "")


@pytest.fixture
def hands() -> SimpleNamespace:
    """A clock that is set by hand."""
    return SimpleNamespace(now=0.0)


# Opens the tokens of an account; what is kept of one is there for the next, as in a store.
Open = Callable[[OAuthSettings], Tokens]


@pytest.fixture
def opened(hands: SimpleNamespace, tmp_path: Path) -> Open:
    return opener(Kept(), hands, tmp_path)


def opener(kept: Kept, hands: SimpleNamespace, folder: Path) -> Open:
    client = HttpClient(version="1", gate_dir=folder / "gates")
    post = partial(client.post_form, allow_private=True)
    return lambda account: Tokens(account, MAILBOX, post, kept, lambda: hands.now)


@pytest.fixture
def tokens(endpoint: TokenServer, opened: Open) -> Tokens:
    return opened(own(endpoint))


def account(endpoint: TokenServer, provider: str = "microsoft", **settings: Any) -> OAuthSettings:
    return OAuthSettings(provider=provider, token_url=endpoint.url, **settings)


def own(endpoint: TokenServer) -> OAuthSettings:
    return account(endpoint, client_id="app", client_secret=CLIENT_SECRET)


def delegated(endpoint: TokenServer, refresh_token: str | None = REFRESH_TOKEN) -> OAuthSettings:
    endpoint.refresh_tokens.add(REFRESH_TOKEN)
    return account(endpoint, client_id="app", refresh_token=refresh_token)


def server(mx: ScriptedSmtp, tokens: Tokens, **options: Any) -> SmtpServer:
    values = {"host": "127.0.0.1", "port": mx.port, "tls": "none", "sender": MAILBOX}
    oauth = {"username": MAILBOX, "oauth": tokens.settings}
    return SmtpServer(SmtpSettings(**values, **oauth, **options), tokens)


def send(mail_server: SmtpServer) -> Outcome:
    return mail_server.send(Letter(MAILBOX, "ada@example.org", b"Subject: x\r\n\r\n"), Commit())


def logins(mx: ScriptedSmtp) -> list[str]:
    return [command for command in mx.commands if command.startswith("AUTH")]


def assert_no_secrets(text: str) -> None:
    assert not any(secret in text for secret in SECRETS)


@pytest.mark.parametrize(
    ("offered", "begins"),
    [("LOGIN XOAUTH2", b"user=papers@example.org"), ("OAUTHBEARER", b"n,a=papers@example.org,")],
)
def test_a_mail_is_sent_with_a_token_in_place_of_a_password(
    endpoint: TokenServer, mx: ScriptedSmtp, tokens: Tokens, offered: str, begins: bytes
) -> None:
    mx.extensions = (f"AUTH {offered}",)
    assert send(server(mx, tokens)).state is DeliveryState.SENT
    [asked] = endpoint.asked
    assert asked["grant_type"] == "client_credentials"
    assert asked["scope"] == "https://outlook.office365.com/.default"
    login = base64.b64decode(logins(mx)[0].split()[2])
    assert login == begins + b"\1auth=Bearer access-token-1\1\1"


def test_M11_a_token_that_ends_in_the_middle_of_a_round_is_renewed_once(
    endpoint: TokenServer, mx: ScriptedSmtp, tokens: Tokens
) -> None:
    line = server(mx, tokens, per_connection=1)
    assert send(line).state is DeliveryState.SENT
    endpoint.ended.add("access-token-1")
    assert [send(line).state for _ in range(2)] == [DeliveryState.SENT] * 2
    assert endpoint.issued == ["access-token-1", "access-token-2"]
    assert len(logins(mx)) == 4


def test_a_token_is_renewed_before_its_end_and_not_sooner(
    endpoint: TokenServer, tokens: Tokens, hands: SimpleNamespace
) -> None:
    for hands.now, number in ((0, 1), (3299, 1), (3301, 2)):
        assert tokens.token() == f"access-token-{number}"


def test_connections_of_a_process_ask_once(endpoint: TokenServer, tokens: Tokens) -> None:
    for asked in [in_thread(tokens.token) for _ in range(8)]:
        assert asked() == "access-token-1"
    assert len(endpoint.asked) == 1


def test_a_token_is_used_to_its_end_while_the_endpoint_is_down(
    endpoint: TokenServer, tokens: Tokens, hands: SimpleNamespace
) -> None:
    tokens.token()
    endpoint.down = True
    hands.now = 3500
    assert tokens.token() == "access-token-1"
    hands.now = 3601
    with pytest.raises(TokenError, match="answered 500"):
        tokens.token()
    endpoint.down = False
    assert tokens.token() == "access-token-2"


def test_M10_a_new_token_that_is_refused_lacks_a_permission_and_is_tried_once(
    endpoint: TokenServer, mx: ScriptedSmtp, tokens: Tokens
) -> None:
    mx.accepts = lambda token: False
    outcome = send(server(mx, tokens))
    assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, True)
    assert "refused a token that was just issued: 535 5.7.3" in outcome.error
    assert "SMTP.SendAsApp" in outcome.error
    assert (len(logins(mx)), len(endpoint.asked)) == (1, 1)
    mx.accepts = endpoint.accepts
    assert send(server(mx, tokens)).state is DeliveryState.SENT
    assert endpoint.issued[-1] == "access-token-2"  # one with the permission


@pytest.mark.parametrize(
    ("phase", "reply", "problem"),
    [
        ("dot", "554 5.2.252 SendAsDenied; x", f"refused the sender {MAILBOX}: 554 5.2.252"),
        ("auth", "535 no access-token-1", "535 no ********"),
    ],
)
def test_an_account_that_is_refused_fails_for_all_and_a_repeated_token_is_masked(
    mx: ScriptedSmtp, tokens: Tokens, phase: str, reply: str, problem: str
) -> None:
    mx.always[phase] = reply
    outcome = send(server(mx, tokens))
    assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, True)
    assert problem in outcome.error


@pytest.mark.parametrize(
    ("error", "description", "problem"),
    [
        ("invalid_client", "hush-4711", "client_id: or client_secret: is wrong"),
        ("invalid_grant", "Token has been expired or revoked.", "mail login` again"),
        ("unauthorized_client", "AADSTS700016: no", "refused (unauthorized_client, AADSTS700016)"),
        ("invalid_grant", "AADSTS99999: hush-4711", "error?code=99999"),
        ("hush-4711", "", "unknown error"),
    ],
)
def test_refusals_are_distinguished_and_say_what_to_do(
    endpoint: TokenServer,
    mx: ScriptedSmtp,
    tokens: Tokens,
    error: str,
    description: str,
    problem: str,
) -> None:
    endpoint.script.append(refusal(error, description))
    outcome = send(server(mx, tokens))
    assert (outcome.state, outcome.channel_down) == (DeliveryState.RETRY, True)
    assert problem in outcome.error
    assert_no_secrets(outcome.error)
    assert mx.connections == 0


def test_an_endpoint_that_is_away_or_answers_html_is_the_line_s_fault(
    endpoint: TokenServer, mx: ScriptedSmtp, opened: Open
) -> None:
    moved = Answer(302, headers={"Location": "/elsewhere"})
    endpoint.script += [Answer(body=b"<html>log in</html>"), moved]
    with closed_port() as port:
        away = own(endpoint).model_copy(update={"token_url": f"http://127.0.0.1:{port}/token"})
        for settings, problem in (
            (own(endpoint), "answered 200 without JSON"),
            (own(endpoint), "answered 302"),
            (away, "cannot be used"),
        ):
            outcome = send(server(mx, opened(settings)))
            assert outcome.channel_down and problem in outcome.error
    assert len(endpoint.asked) == 2  # no redirect was followed


def test_a_wrong_clock_is_the_likely_cause(endpoint: TokenServer, tokens: Tokens) -> None:
    endpoint.ahead = 600
    endpoint.script.append(refusal("invalid_grant", "Invalid JWT"))
    with pytest.raises(TokenError, match="the clock of this machine is 10 minutes behind"):
        tokens.token()


def test_a_rotated_refresh_token_is_used_by_the_next_process_until_another_is_configured(
    endpoint: TokenServer, opened: Open
) -> None:
    with pytest.raises(TokenError, match="run `paper-monitor mail login`"):
        opened(delegated(endpoint, None)).token()
    grant = delegated(endpoint)
    opened(grant).token()
    endpoint.refresh_tokens.discard("refresh-token-1")
    opened(grant).token()
    endpoint.refresh_tokens = {"refresh-token-new"}
    opened(delegated(endpoint, "refresh-token-new")).token()
    used = [asked["refresh_token"] for asked in endpoint.asked]
    assert used == ["refresh-token-1", "refresh-token-2", "refresh-token-new"]


class Late(Kept):
    """Another process keeps a newer token while this one asks."""

    def load(self, account: str) -> str:
        found = super().load(account)
        self[account] = "refresh-token-9"
        return found


def test_a_refresh_token_that_another_process_replaced_meanwhile_is_read_again(
    endpoint: TokenServer, hands: SimpleNamespace, tmp_path: Path
) -> None:
    grant = delegated(endpoint)

    endpoint.refresh_tokens = {"refresh-token-9"}
    assert opener(Late(), hands, tmp_path)(grant).token() == "access-token-1"


@pytest.mark.parametrize("error", ["invalid_client", "temporarily_unavailable", "invalid_scope"])
def test_another_refresh_token_is_not_tried_after_another_refusal(
    endpoint: TokenServer, hands: SimpleNamespace, tmp_path: Path, error: str
) -> None:
    """A provider that counts refusals locks the account; the other token would not help."""
    grant = delegated(endpoint)

    endpoint.refresh_tokens = {"refresh-token-9"}
    endpoint.script.append(refusal(error))
    with pytest.raises(TokenError, match=error):
        opener(Late(), hands, tmp_path)(grant).token()
    assert [asked["refresh_token"] for asked in endpoint.asked] == [REFRESH_TOKEN]


def test_a_service_account_signs_for_the_mailbox(
    endpoint: TokenServer, opened: Open, tmp_path: Path
) -> None:
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = tmp_path / "key.json"
    file.write_text(json.dumps({"private_key": pem.decode(), "client_email": "a@b.iam"}))
    grant = account(endpoint, "google", key_file=file)
    opened(grant).token()
    signed, _, signature = endpoint.asked[0]["assertion"].rpartition(".")
    key.public_key().verify(decoded(signature), signed.encode(), padding.PKCS1v15(), SHA256())
    claims = json.loads(decoded(signed.partition(".")[2]))
    assert (claims["iss"], claims["sub"]) == ("a@b.iam", MAILBOX)
    assert (claims["aud"], claims["scope"]) == (endpoint.url, "https://mail.google.com/")
    assert claims["exp"] - claims["iat"] == 3600


@pytest.mark.parametrize("text", ["hush-4711", "{}", '{"private_key": "hush-4711"}', "[]"])
def test_a_file_that_is_no_key_is_reported_without_its_content(
    endpoint: TokenServer, opened: Open, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "key.json"
    file.write_text(text)
    grant = account(endpoint, "google", key_file=file)
    with pytest.raises(TokenError, match="is not the JSON key of a service account") as caught:
        opened(grant).token()
    assert_no_secrets(str(caught.value))
    assert caught.value.__suppress_context__


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_no_secret_is_in_the_form_of_an_object(endpoint: TokenServer, tokens: Tokens) -> None:
    tokens.token()
    assert_no_secrets(repr(tokens) + repr(tokens.settings) + repr(delegated(endpoint)))


EVERY_STEP = ["token endpoint", "token", "connection", "login", "sender"]


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ("", ""),
        ("token endpoint", "answered 500"),
        ("token", "invalid_client"),
        ("connection", "cannot be reached"),
        ("login", "refused a token that was just issued"),
        ("sender", "refused the sender papers@example.org: 550 5.7.60 not as this one"),
    ],
)
def test_steps_are_taken_up_to_the_first_that_fails_with_its_reason_and_send_nothing(
    endpoint: TokenServer, mx: ScriptedSmtp, tokens: Tokens, broken: str, problem: str
) -> None:
    if broken == "token endpoint":
        endpoint.down = True
    elif broken == "token":
        endpoint.script.append(refusal("invalid_client", "AADSTS7000215: a wrong secret"))
    elif broken == "connection":
        with closed_port() as mx.port:
            pass
    elif broken == "login":
        mx.accepts = lambda token: False
    elif broken == "sender":
        mx.always["mail"] = "550 5.7.60 not as this one"
    *before, last = server(mx, tokens).steps()
    taken = EVERY_STEP.index(broken or "sender") + 1
    assert [step.name for step in (*before, last)] == EVERY_STEP[:taken]
    assert not any(step.problem for step in before) and bool(last.problem) == bool(broken)
    assert problem in last.problem
    assert mx.received == [] and (broken or mx.commands[-1] == "quit")
    assert_no_secrets(last.problem)
