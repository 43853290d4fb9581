"""What an answer is: content, validators, and every other status a failure."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest

from monitor.errors import FetchError
from monitor.http.client import HttpClient
from tests.servers.web import Answer, Asked, MisbehavingServer


def test_an_answer_comes_with_its_content_type_and_validators(
    web: MisbehavingServer, door: HttpClient
) -> None:
    headers = {"Content-Type": "text/xml", "ETag": '"1"', "Last-Modified": "yesterday"}
    web.answers("/feed", body=b"<rss/>", headers=headers)
    answer = door.get(web.url("/feed"), allow_private=True)
    assert (answer.status, answer.content, answer.content_type) == (200, b"<rss/>", "text/xml")
    assert answer.validators == {"etag": '"1"', "last_modified": "yesterday"}
    assert answer.complete and not answer.not_modified


def test_the_user_agent_names_version_and_contact(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/")
    door.get(web.url("/"), allow_private=True)
    assert web.requests[0].headers["user-agent"] == "paper-monitor/1.2 (+ops@example.org)"


def test_a_user_agent_without_a_contact_names_the_version_alone(web: MisbehavingServer) -> None:
    web.answers("/")
    with closing(HttpClient(version="1")) as door:
        door.get(web.url("/"), allow_private=True)
    assert web.requests[0].headers["user-agent"] == "paper-monitor/1"


def test_a_contact_that_no_header_can_hold_is_made_printable(web: MisbehavingServer) -> None:
    web.answers("/")
    door = HttpClient(version="1", contact="ada\r\nX-Evil: 1\x00 é")
    door.get(web.url("/"), allow_private=True)
    door.close()
    assert web.requests[0].headers["user-agent"] == "paper-monitor/1 (+adaX-Evil: 1)"
    assert "x-evil" not in web.requests[0].headers


def test_F14_unchanged_is_answered_by_304(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/feed", status=304)
    kept = {"etag": '"1"', "last_modified": "yesterday"}
    answer = door.get(web.url("/feed"), validators=kept, allow_private=True)
    assert answer.not_modified and answer.content == b"" and answer.validators == kept
    sent = web.requests[0].headers
    assert (sent["if-none-match"], sent["if-modified-since"]) == ('"1"', "yesterday")


def test_a_304_that_nobody_asked_for_is_a_failure(web: MisbehavingServer, door: HttpClient) -> None:
    web.answers("/feed", status=304)
    with pytest.raises(FetchError, match="304"):
        door.get(web.url("/feed"), allow_private=True)


def test_validators_are_ignored_when_the_answer_expires_at_once(
    web: MisbehavingServer, door: HttpClient
) -> None:
    web.answers("/feed", body=b"x", headers={"ETag": '"1"', "Expires": "0"})
    assert door.get(web.url("/feed"), allow_private=True).validators == {}


@pytest.mark.parametrize("status", [204, 206, 400, 401, 403, 404, 410, 500, 502, 599])
def test_every_other_status_is_a_failure(
    web: MisbehavingServer, door: HttpClient, status: int
) -> None:
    web.answers("/", status=status)
    with pytest.raises(FetchError, match=f"127.0.0.1 answered {status}") as fault:
        door.get(web.url("/"), allow_private=True)
    assert fault.value.retry_after is None


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_is_busy_says_when_to_come_again(
    web: MisbehavingServer, door: HttpClient, status: int
) -> None:
    web.answers("/", status=status, headers={"Retry-After": "120"})
    with pytest.raises(FetchError) as fault:
        door.get(web.url("/"), allow_private=True)
    assert fault.value.retry_after == timedelta(seconds=120)


def test_what_was_asked_is_seen_by_the_test_server(
    web: MisbehavingServer, door: HttpClient
) -> None:
    web.decides("/echo", lambda request: Answer(body=request.method.encode()))
    assert door.get(web.url("/echo"), allow_private=True).content == b"GET"
    assert isinstance(web.requests[0], Asked)
