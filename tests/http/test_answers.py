"""What an answer is: content, validators, and every other status a failure."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from monitor.errors import FetchError
from monitor.http.client import HttpClient
from tests.http.doors import Site
from tests.servers.web import MisbehavingServer


def test_an_answer_comes_with_its_content_type_and_validators(site: Site) -> None:
    headers = {"Content-Type": "text/xml", "ETag": '"1"', "Last-Modified": "yesterday"}
    site.answers("/feed", body=b"<rss/>", headers=headers)
    answer = site.get("/feed")
    assert (answer.status, answer.content, answer.content_type) == (200, b"<rss/>", "text/xml")
    assert answer.validators == {"etag": '"1"', "last_modified": "yesterday"}
    assert answer.complete


@pytest.mark.parametrize(
    ("contact", "agent"),
    [
        ("ops@example.org", "paper-monitor/1 (+ops@example.org)"),
        ("", "paper-monitor/1"),
        ("ada\r\nX-Evil: 1\x00 é", "paper-monitor/1 (+adaX-Evil: 1)"),
    ],
)
def test_the_user_agent_names_version_and_contact(
    web: MisbehavingServer, tmp_path: Path, contact: str, agent: str
) -> None:
    web.answers("/")
    door = HttpClient(version="1", contact=contact, gate_dir=tmp_path)
    door.get(web.url("/"), allow_private=True)
    assert web.requests[0].headers["user-agent"] == agent
    assert "x-evil" not in web.requests[0].headers


def test_F14_unchanged_is_answered_by_304(site: Site) -> None:
    site.answers("/feed", status=304)
    kept = {"etag": '"1"', "last_modified": "yesterday"}
    answer = site.get("/feed", validators=kept)
    assert answer.status == 304 and answer.content == b"" and answer.validators == kept
    sent = site.headers()
    assert (sent["if-none-match"], sent["if-modified-since"]) == ('"1"', "yesterday")


def test_validators_are_ignored_when_the_answer_expires_at_once(site: Site) -> None:
    site.answers("/feed", body=b"x", headers={"ETag": '"1"', "Expires": "0"})
    assert site.get("/feed").validators == {}


@pytest.mark.parametrize("status", [204, 304, 400, 401, 403, 404, 410, 429, 500, 503, 599])
def test_every_other_status_is_a_failure_and_a_busy_server_says_when_to_come_again(
    site: Site, status: int
) -> None:
    site.answers("/", status=status, headers={"Retry-After": "120"})
    with pytest.raises(FetchError, match=f"127.0.0.1 answered {status}") as fault:
        site.get()
    busy = status in (429, 503)
    assert fault.value.retry_after == (timedelta(seconds=120) if busy else None)
