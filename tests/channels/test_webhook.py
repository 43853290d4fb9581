"""The webhook: what is posted and signed, what answers mean, and the limits of receivers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec import structs
from standardwebhooks.webhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from monitor.channels.webhook.body import BODY_LIMIT, digest_body
from monitor.channels.webhook.channel import Webhook, WebhookOptions
from monitor.channels.webhook.signature import key_of, signed_headers
from monitor.commands.sample_digest import template_faults
from monitor.config.settings import ChannelSettings
from monitor.digest.chat_messages import in_messages
from monitor.digest.render import JinjaTemplates
from monitor.errors import TemplateError
from monitor.model import (
    AboutSubscription,
    Delivery,
    DeliveryState,
    Digest,
    DigestPaper,
    LeadPaper,
    LeadReason,
    LibraryEntry,
    Outcome,
    Paper,
    ReferenceChange,
    ReferenceEvent,
    Rendered,
    ReturnedPaper,
    SiteNote,
)
from monitor.setting_types import SettingsContext
from monitor.testing.channels import TITLES
from tests.channels.samples import AT, HOSTILE, NOTICE, Commit, delivery, digest, entry
from tests.servers.chats import CHATS, answered_by
from tests.servers.web import Answer, MisbehavingServer, misbehaving_server

SCHEMA = Path(__file__).parent.parent.parent / "docs" / "webhook.schema.json"
FIRST, SECOND = (f"whsec_{base64.b64encode(bytes([n]) * 32).decode()}" for n in (1, 2))
TEMPLATES = JinjaTemplates()
HOOK = "/hooks/a-secret-path"
ARCHIVE = "https://papers.example.org/digests/ada/2026-11-21"
OF_A_PERSON = ("SIGNED-STOP", "SIGNED-VIEW", "SIGNED-RATE")


@pytest.fixture
def web() -> Iterator[MisbehavingServer]:
    with misbehaving_server() as server:
        server.answers(HOOK)
        yield server


def channel(url: str = "https://example.org/a", **settings: Any) -> Webhook:
    context = SettingsContext(Path("/nowhere"))
    raw = {"url": url, "allow_private": True} | settings
    options = WebhookOptions.model_validate(raw, context=context)
    return Webhook("team", options, TEMPLATES)


def sent(one: Webhook, made: Digest | None = None) -> tuple[Delivery, Outcome]:
    """Render the first part of a digest, store it as JSON and send it."""
    [part, *_] = one.render(made or digest(), TEMPLATES)
    stored = Rendered(part.part, json.loads(json.dumps(part.body)))
    planned = delivery(stored, channel="team", recipient="team", message_id="<c0ffee00@h.example>")
    return planned, one.send(planned, Commit())


def data_of(one: Webhook, made: Digest) -> Any:
    [part] = one.render(made, TEMPLATES)
    return json.loads(part.body["json"])["data"]


def personal(made: Digest) -> Digest:
    """Return a digest with the links of a reader, as a mail of it has them."""
    stop, view, rate = (f"https://papers.example.org/{name}" for name in OF_A_PERSON)
    about = AboutSubscription(
        "Reading group",
        ("agents",),
        "daily 08:00",
        "ops@example.org",
        stop_url=stop,
        view_url=view,
        rate_url=rate,
        archive_url=ARCHIVE,
    )
    return replace(made, about=about)


# ── signatures ──────────────────────────────────────────────────────────────────────


def test_the_stored_text_is_posted_and_every_secret_has_signed_it(web: MisbehavingServer) -> None:
    one = channel(web.url(HOOK), secret=[FIRST, SECOND], headers={"Authorization": "Bearer hush"})
    planned, outcome = sent(one)
    assert outcome == Outcome(DeliveryState.SENT)
    [asked] = web.requests
    assert asked.body.decode() == planned.rendered.body["json"]
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["authorization"] == "Bearer hush"
    assert asked.headers["webhook-id"] == "c0ffee00", "the random part of the Message-ID"
    for secret in (FIRST, SECOND):
        Verifier(secret).verify(asked.body, dict(asked.headers))
    with pytest.raises(WebhookVerificationError):
        Verifier(FIRST).verify(asked.body + b" ", dict(asked.headers))


def test_a_retry_has_the_same_id_and_body_and_a_signature_of_its_own_time() -> None:
    keys = [key_of(FIRST)]
    first, later = (signed_headers(keys, "c0ffee00", at, b"{}") for at in (1_000, 2_000))
    assert first["webhook-id"] == later["webhook-id"]
    assert first["webhook-timestamp"] == "1000" and later["webhook-timestamp"] == "2000"
    assert first["webhook-signature"] != later["webhook-signature"]
    at = datetime.fromtimestamp(2_000, UTC)
    assert later["webhook-signature"] == Verifier(FIRST).sign("c0ffee00", at, "{}")


def test_without_a_secret_a_post_has_an_id_and_no_signature(web: MisbehavingServer) -> None:
    sent(channel(web.url(HOOK)))
    [asked] = web.requests
    assert asked.headers["webhook-id"] and "webhook-signature" not in asked.headers


# ── what answers mean ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answer", "state", "down", "gone"),
    [
        (Answer(204), DeliveryState.SENT, False, False),
        (Answer(200, b"<html>an error page that lies"), DeliveryState.SENT, False, False),
        (Answer(410), DeliveryState.FAILED, False, True),
        (Answer(400, b"no"), DeliveryState.FAILED, False, False),
        (Answer(401), DeliveryState.RETRY, True, False),
        (Answer(429, headers={"Retry-After": "9"}), DeliveryState.RETRY, False, False),
        (Answer(307, headers={"Location": "/else"}), DeliveryState.RETRY, True, False),
        (Answer(503), DeliveryState.UNKNOWN, False, False),
        (Answer(reset=True), DeliveryState.UNKNOWN, False, False),
    ],
    ids=lambda value: str(getattr(value, "status", value)),
)
def test_an_answer_has_one_meaning(
    web: MisbehavingServer, answer: Answer, state: DeliveryState, down: bool, gone: bool
) -> None:
    web.decides(HOOK, lambda _: answer)
    _, outcome = sent(channel(web.url(HOOK), secret=FIRST))
    assert (outcome.state, outcome.channel_down, outcome.gone) == (state, down, gone)
    assert len(web.requests) == 1, "no redirect is followed"


def test_a_receiver_that_takes_too_long_may_have_it(web: MisbehavingServer) -> None:
    web.answers(HOOK, hang=True)
    _, outcome = sent(channel(web.url(HOOK), timeout="1s"))
    assert outcome.state is DeliveryState.UNKNOWN


def test_no_error_shows_the_address_a_header_or_a_secret(web: MisbehavingServer) -> None:
    def echo(asked: Any) -> Answer:
        said = " ".join([asked.target, *asked.headers.values(), FIRST.removeprefix("whsec_")])
        return Answer(400, said.encode())

    web.decides(HOOK, echo)
    one = channel(web.url(HOOK), secret=FIRST, headers={"X-Key": "hush-hush"})
    _, outcome = sent(one)
    for secret in ("a-secret-path", "hush-hush"):
        assert secret not in outcome.error
    assert "hush" not in repr(one.options) and "secret-path" not in repr(one.options)
    assert FIRST not in repr(one.options)


# ── the body ────────────────────────────────────────────────────────────────────────


def strict(schema: Any) -> Any:
    """Return a schema that allows no fields but those that it names."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict(part) for name, part in schema.items()}
    if "properties" in made:
        made["additionalProperties"] = False
    return made


def whole() -> Digest:
    """Return a digest with everything that a body may have."""
    noted = structs.replace(
        entry(1), note=SiteNote("Site", line="In short."), sources=("daily", "weekly")
    )
    bare = structs.replace(entry(2), matched=(structs.replace(entry(2).matched[0], why=()),))
    work = Paper("On sand", keys={"doi": "10.5555/7"}, links={"code": "https://github.com/a/b"})
    changed = ReferenceEvent(
        ReferenceChange.RETRACTED, work, ("doi:10.5555/7",), AT, "notices",
        after="10.5555/n7", dated="2026-11", url="https://example.org/n7",
        entries=(LibraryEntry("ada-refs", "ada.bib", "sand"),),
    )  # fmt: skip
    return replace(
        personal(digest([entry(0, HOSTILE), noted, bare])),
        references=(changed,),
        returned=(ReturnedPaper("WebArena", 4),),
        lead=(LeadPaper(1, LeadReason.WORDS, 1),),
    )


def test_bodies_keep_to_the_published_schema_and_use_all_of_it() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    one = channel()
    [part] = one.render(whole(), TEMPLATES)
    [notice] = one.render_notice(NOTICE, TEMPLATES)
    [empty] = one.render(digest(0), TEMPLATES)
    for made in (part, notice, empty):
        jsonschema.validate(
            json.loads(made.body["json"]),
            strict(schema),
            format_checker=jsonschema.FormatChecker(),
        )
    text = part.body["json"]
    assert "ada.bib" not in text, "a library is its readers'"
    data = json.loads(text)["data"]
    assert [section["kind"] for section in data["sections"]] == ["references", "topic", "returned"]
    first, second, third = data["sections"][1]["papers"]
    assert (first["lead"], second["lead"]) == (False, True)
    assert second["line"] == {"text": "In short.", "by": "Site"}
    assert first["why"] == [{"topic": "agents", "field": "abstract", "words": ["agents"]}]
    assert third["why"] == [{"topic": "agents", "field": None, "words": []}]
    assert data["read"] == {"papers": 412, "sources": 1}
    assert data["sections"][0]["papers"][0]["change"]["kind"] == "retracted"


@pytest.mark.parametrize("template", [None, *CHATS])
def test_no_link_of_a_person_is_in_a_body(template: str | None) -> None:
    one = channel(template=template) if template else channel()
    for made in (whole(), replace(whole(), at_most=1)):
        text = json.dumps([dict(part.body) for part in one.render(made, TEMPLATES)])
        assert "papers.example.org/digests" in text
        assert [name for name in OF_A_PERSON if name in text] == []


def test_what_at_most_leaves_is_counted_where_there_is_an_archive() -> None:
    made = replace(digest(5), at_most=2)
    data = data_of(channel(), personal(made))
    assert (data["left"], data["url"]) == (3, ARCHIVE)
    assert len(data["sections"][0]["papers"]) == 2
    data = data_of(channel(), made)
    assert (data["left"], data["url"], len(data["sections"][0]["papers"])) == (0, None, 5)


def with_institutions(entry: DigestPaper) -> DigestPaper:
    paper = structs.replace(entry.paper, affiliations=("CERN",))
    return structs.replace(entry, paper=paper)


def test_a_body_gives_up_abstracts_first_and_then_papers_and_counts_them() -> None:
    entries = [entry(n, abstract="We study agents. " * 300) for n in range(400)]
    long = digest([with_institutions(each) for each in entries])
    body = digest_body(long)
    papers = body["data"]["sections"][0]["papers"]
    with_abstract = [paper["id"] for paper in papers if paper["abstract"]]
    assert [paper["id"] for paper in papers if paper["affiliations"]] == with_abstract
    assert len(json.dumps(body, ensure_ascii=False).encode()) <= BODY_LIMIT * 1.1
    assert len(papers) == 400 and 100 < len(with_abstract) < 300
    assert with_abstract == list(range(len(with_abstract))), "the best keep theirs"
    body = digest_body(long, 50_000)
    [section] = body["data"]["sections"]
    assert 0 < len(section["papers"]) < 130
    assert body["data"]["left"] == 400 - len(section["papers"])


def test_a_lone_surrogate_and_signs_of_control_leave_valid_json() -> None:
    made = digest([entry(0, "half \ud83d of a pair\x00")])
    [part] = channel().render(made, TEMPLATES)
    part.body["json"].encode()
    assert (
        "half ? of a pair"
        in json.loads(part.body["json"])["data"]["sections"][0]["papers"][0]["title"]
    )


# ── other receivers ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("template", CHATS)
@pytest.mark.parametrize("papers", [0, 3, 400])
def test_each_receiver_takes_every_message_and_has_every_paper(
    web: MisbehavingServer, template: str, papers: int
) -> None:
    web.decides(HOOK, answered_by(CHATS[template]))
    one = channel(web.url(HOOK), template=template)
    titles = [f"Unmistakable{n} {TITLES[n % len(TITLES)]}" for n in range(papers)]
    made = personal(digest([entry(n, title) for n, title in enumerate(titles)], full=12))
    parts = [*one.render(made, TEMPLATES), *one.render_notice(NOTICE, TEMPLATES)]
    for part in parts:
        outcome = one.send(delivery(part), Commit())
        assert outcome == Outcome(DeliveryState.SENT), outcome.error
    text = json.dumps([json.loads(asked.body) for asked in web.requests])
    assert [n for n in range(papers) if f"Unmistakable{n} " not in text] == []
    assert "arxiv is failing" in text


@pytest.mark.parametrize("template", ["discord", "mattermost", "teams", "zulip"])
def test_a_title_names_nobody_and_forms_nothing(template: str) -> None:
    title = "@everyone @channel <!here> <@U1> **bold** @**all** [a](https://evil.example)"
    [part] = channel(template=template).render(digest([entry(0, title)]), TEMPLATES)
    text = json.dumps(json.loads(part.body["json"]), ensure_ascii=False)
    for live in ("@everyone", "@channel", "<!here", "<@U1", "**bold", "@**all", "[a](https"):
        assert live not in text, live
    assert "(https://papers.example.org/0)" in text


def test_papers_to_read_first_come_first_and_each_paper_is_there_once() -> None:
    made = replace(whole(), groups=digest(3).groups)
    [part] = channel(template="mattermost").render(made, TEMPLATES)
    text = json.loads(part.body["json"])["text"]
    links = [f"(https://papers.example.org/{number})" for number in range(3)]
    assert [text.count(link) for link in links] == [1, 1, 1]
    marks = ["Read first", links[1], "**agents**", links[0], links[2], "WebArena, 4 lists"]
    assert sorted(marks, key=text.index) == marks


def test_a_line_that_is_longer_than_a_message_is_cut() -> None:
    long = "é" * 900
    messages = in_messages([f"first\n{long}", "x" * 20, "\n".join(["line"] * 100)], 300)
    for message in messages:
        text = json.loads(f'"{message.text}"')
        assert 0 < len(text.encode()) <= 300
        assert "\n".join(json.loads(f'"{line}"') for line in message.lines) == text.replace(
            "\n\n", "\n"
        )
    assert sum(message.text.count("line") for message in messages) == 100


def test_teams_takes_each_message_of_very_many_short_lines() -> None:
    def bare(number: int) -> DigestPaper:
        made = entry(number, title=f"{number}")
        return structs.replace(made, paper=Paper(made.paper.title), matched=())

    made = digest([bare(number) for number in range(400)])
    parts = channel(template="teams").render(made, TEMPLATES)
    messages = [json.loads(part.body["json"]) for part in parts]
    assert sum(json.dumps(message).count("TextBlock") for message in messages) > 400
    assert [CHATS["teams"](message) for message in messages] == [""] * len(messages)


def own(folder: Path, text: str) -> Webhook:
    (folder / "webhook").mkdir()
    (folder / "webhook" / "mine.json.j2").write_text(text)
    raw = {"url": "https://example.org/a", "template": "mine"}
    options = WebhookOptions.model_validate(raw, context=SettingsContext(templates=folder))
    return Webhook("team", options, JinjaTemplates(folder))


def test_a_template_of_ones_own_is_used_and_escapes_what_stands_in_quotes(tmp_path: Path) -> None:
    text = '{"head": "{{ digest.heading }}", "n": {{ digest.papers }}, "all": {{ data|tojson }}}'
    one = own(tmp_path, text)
    made = replace(digest(1), subscription='a "b" \\ c')
    for templates in (one.templates, TEMPLATES):  # those that are shipped have no such file
        [part] = one.render(made, templates)
        body = json.loads(part.body["json"])
        assert (body["head"], body["n"]) == ('a "b" \\ c', 1)
        assert body["all"]["subscription"] == 'a "b" \\ c'


@pytest.mark.parametrize(
    "text", ["{digest: 1}", "3", "[]", '["text"]', '{"a": NaN}', '{"a": {{ missing }}}', ""]
)
def test_an_output_that_is_no_json_is_an_error_that_names_the_file(
    tmp_path: Path, text: str
) -> None:
    one = own(tmp_path, text)
    with pytest.raises(TemplateError, match=r"webhook/mine\.json\.j2"):
        one.render(digest(1), one.templates)
    if text:
        [notice] = one.render_notice(NOTICE, one.templates)
        assert json.loads(notice.body["json"])["type"] == "notice", "the operator is notified"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"{{ digest|markdown|messages(100) }}"', "is a list of messages; write {% for message in"),
        ('"{{ digest|markdown }}"', "is a list of paragraphs; write {% for message in"),
        (
            '"{% for message in digest|markdown|messages(100) %}{{ message }}{% endfor %}"',
            "is a message; write {{ message.text }}",
        ),
    ],
)
def test_a_list_of_messages_in_a_text_is_an_error_with_what_to_write(
    tmp_path: Path, text: str, problem: str
) -> None:
    one = own(tmp_path, f'\n{{"text": {text}}}')
    with pytest.raises(TemplateError) as caught:
        one.render(digest(1), one.templates)
    assert problem in str(caught.value) and "webhook/mine.json.j2:2: " in str(caught.value)


def test_an_output_that_is_no_json_is_shown_around_its_fault(tmp_path: Path) -> None:
    one = own(tmp_path, '{"head": "' + "far " * 50 + 'near" "next": 1}')
    with pytest.raises(TemplateError, match='far near" ⟶"next": 1}”') as caught:
        one.render(digest(1), one.templates)
    assert len(str(caught.value)) < 300


LOOP = (
    '[{% for message in (notice or digest)|markdown|messages(4000) %}{"text": "{{ message.text }}"}'
)
GOOD = LOOP + '{{ "," if not loop.last }}{% endfor %}]'


@pytest.mark.parametrize(
    ("text", "sample"),
    [
        (GOOD, ""),
        (LOOP + "{% endfor %}]", "a long sample digest"),
        ('{"text": {{ digest.heading|tojson }}}', "a sample notice"),
        ('{"text": "{{ data.sections[0].heading }}"}', "a digest without papers"),
        (
            '{"all": [{% for group in digest.groups if digest %}{% for entry in group.entries %}'
            '"{{ entry.paper.authors[0] }}",{% endfor %}{% endfor %} 0]}',
            "a long sample digest",
        ),
    ],
)
def test_check_tries_a_template_with_samples_and_names_the_one_that_failed(
    tmp_path: Path, text: str, sample: str
) -> None:
    one = own(tmp_path, text)
    settings = ChannelSettings(name="team", kind="webhook", options=one.options)
    messages = [fault.message for fault in template_faults(tmp_path, {"team": settings})]
    assert bool(messages) == bool(sample)
    assert not sample or any(f"fails with {sample}: " in message for message in messages)


def test_it_commits_before_the_body_leaves_and_sends_nothing_if_taken_over(
    web: MisbehavingServer,
) -> None:
    one = channel(web.url(HOOK), secret=FIRST)
    [part] = one.render(digest(), TEMPLATES)
    assert one.send(delivery(part), lambda: False).state is DeliveryState.RETRY
    assert [asked.body for asked in web.requests if asked.body] == []


def test_a_receiver_that_keeps_no_ids_may_get_a_message_twice() -> None:
    assert channel().unknown == "resend" and not channel().options.may_repeat
    chat = channel(template="discord")
    assert (chat.unknown, chat.options.may_repeat) == ("hold", False)
    chat = channel(template="discord", unknown="resend")
    assert (chat.unknown, chat.options.may_repeat) == ("resend", True)
