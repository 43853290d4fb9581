"""`web.listen`: a host and port, or a Unix socket, which needs a proxy and so `public_url`."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.config import WebSettings
from monitor.errors import UsageError
from monitor.setting_types import SettingsContext
from tests.config.conftest import Faults, Load

PUBLIC = "public_url: https://papers.example.org\n"


@pytest.mark.parametrize("path", ["run/web.sock", "/run/web.sock", f"/{'x' * 106}"])
def test_the_path_of_a_unix_socket_is_relative_to_the_file(
    load: Load, tmp_path: Path, path: str
) -> None:
    settings = load(PUBLIC + f"web: {{listen: 'unix:{path}'}}")
    assert settings.web.socket_path == tmp_path / path


def test_a_unix_socket_needs_the_address_of_its_proxy(faults: Faults) -> None:
    assert faults("web: {listen: 'unix:/run/web.sock'}") == [
        "1: web.listen: a proxy stands before a Unix socket; set public_url: to its address"
    ]


@pytest.mark.parametrize(
    ("listen", "fault"),
    [
        ("unix:", "is empty"),
        ("unix:a\\tb", "contains a control character"),
        (f"unix:/{'x' * 107}", "is too long for a Unix socket, whose path has at most 107 bytes"),
        (f"unix:/{'ä' * 54}", "is too long for a Unix socket, whose path has at most 107 bytes"),
        ("unix/run", "or a Unix socket, as in unix:/run/paper-monitor/web.sock"),
    ],
)
def test_a_path_that_cannot_be_a_socket_is_a_fault(faults: Faults, listen: str, fault: str) -> None:
    [said] = faults(PUBLIC + f'web: {{listen: "{listen}"}}')
    assert said.startswith("2: web.listen: ")
    assert fault in said


def test_the_peer_of_a_unix_socket_may_name_the_user(faults: Faults) -> None:
    web = "user_header: Remote-User, operators: [ada@example.org]"
    assert faults(PUBLIC + f"web: {{listen: 'unix:/run/web.sock', {web}}}") == []
    [said] = faults(PUBLIC + f"web: {{{web}}}")
    assert "user_header: needs trusted_proxies:" in said


def test_an_address_of_the_command_line_may_be_a_unix_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    web = WebSettings.model_validate(
        {"token": "an operator's own token"}, context=SettingsContext()
    )
    other = web.listening_on("unix:web.sock", has_public_url=True)
    assert other.socket_path == tmp_path / "web.sock"
    assert other.token == web.token
    with pytest.raises(UsageError, match=r"--listen: a proxy stands before a Unix socket"):
        web.listening_on("unix:web.sock", has_public_url=False)


def test_leaving_a_unix_socket_needs_proxies_that_may_name_the_user() -> None:
    web = WebSettings.model_validate(
        {"listen": "unix:/run/web.sock", "user_header": "Remote-User"},
        context=SettingsContext(public_url=True),
    )
    with pytest.raises(UsageError, match="user_header: needs trusted_proxies:"):
        web.listening_on("127.0.0.1:8080", has_public_url=True)


@pytest.mark.parametrize("proxy", ["127.0.0.1", "127.0.0.0/8", "::1", "0.0.0.0/0"])
def test_a_header_that_every_account_of_the_machine_can_send_is_warned_of(
    load: Load, proxy: str
) -> None:
    def warned(listen: str = "127.0.0.1:8080", proxies: str = proxy, more: str = "") -> list[str]:
        web = f"{{listen: '{listen}', user_header: Remote-User, trusted_proxies: ['{proxies}']"
        found = load(f"{PUBLIC}web: {web}{more}}}").warnings
        return [
            f"{one.line}: {one.where}: {one.message}"
            for one in found
            if "every account" in one.message
        ]

    assert warned() == [
        "2: web.trusted_proxies: every account of this machine can send Remote-User and be "
        "anybody; set proxy_secret:, or let the proxy connect to a Unix socket "
        "(listen: unix:/run/...)"
    ]
    assert warned(more=f", proxy_secret: {'x' * 32}") == []
    assert warned(proxies="10.1.2.3") == []
