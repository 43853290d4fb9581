"""Small installations on the morning of a digest, and what has to arrive from them.

A scene is prepared once: an installation that has run the evening before, with news for the
morning. Each cell of the grid gets a copy of it, is done harm to, recovers, and is judged by what
the receivers got: the mail server, Slack, the folder of pages.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, ClassVar

import httpx
import sqlalchemy as sa
import trustme
import yaml
from standardwebhooks.webhooks import Webhook as Verifier

from monitor.clocks import SystemClock
from monitor.commands.ratings import rate_any
from monitor.match import learn_words
from monitor.model import Delivery, DeliveryState
from monitor.pipeline.embeddings import embed
from monitor.pipeline.like_topics import read_examples
from monitor.signing import KeyRing
from monitor.store.digests import deliveries, outbox, suppressions
from monitor.store.engine.database import Database, Transaction
from monitor.store.papers import papers
from monitor.store.sources import collections
from monitor.store.topics import like_words, matches
from tests.faults import process
from tests.faults.points import HARMED, Order
from tests.house import SATURDAY, House
from tests.patience import PATIENCE, wait
from tests.servers import postgres
from tests.servers.ntfy import TOKEN, TOPIC, NtfyServer
from tests.servers.oauth import TokenServer
from tests.servers.sendmail import SendmailProgram
from tests.servers.slack import WHOLE_MESSAGE, Fault, SlackServer
from tests.servers.smtp import Received, ScriptedSmtp
from tests.servers.web import Answer, Asked, MisbehavingServer, misbehaving_server

MORNING = SATURDAY + timedelta(days=1, hours=2)
# Seconds that a service is left alone with a full disk.
FULL_FOR = 10.0
OPEN = (
    DeliveryState.PLANNED,
    DeliveryState.RETRY,
    DeliveryState.CLAIMED,
    DeliveryState.HANDING_OFF,
)
HOOK = "/hooks/a"
HOOK_SECRET = "whsec_c2l4IHRpbWVzIHNldmVuIGlzIGZvcnR5LXR3byEh"
FIRST_REFRESH_TOKEN = "refresh-token-1"
READERS = ("ada@example.org", "grace@example.org")
CLICKER = "turing@example.org"
KEY = "a key of this installation"
PAGES = {"public_url": "https://papers.example.org", "secret_key": [KEY]}
CROWD = tuple(f"reader-{number}@example.org" for number in range(8))
SLACK_PAPERS = 48
CHAT_PAPERS = 8
PHONE_PAPERS = 40
GOTIFY = "/message"
SENTENCES = (
    "We train language agents that share their plans in writing. On four benchmarks they need "
    "half as many steps as agents that plan alone, and they fail less often when one is lost. "
)


def title(number: int) -> str:
    return f"Language Agents that Plan, Study Number {number} of the Series"


def paper(number: int, sentences: int = 1) -> tuple[str, str]:
    return title(number), f"Study {number}. " + SENTENCES * sentences


def feed(*numbers: int) -> bytes:
    items = "".join(
        f"<item><title>{title(n)}</title><link>https://journal.example.org/{n}</link>"
        f"<guid>paper-{n}</guid><description>{paper(n)[1]}</description>"
        f"<pubDate>{format_datetime(SATURDAY)}</pubDate></item>"
        for n in numbers
    )
    head = "<title>Journal</title>"
    return f'<rss version="2.0"><channel>{head}{items}</channel></rss>'.encode()


@dataclass
class Stage:
    """The receivers and the servers of one process of tests, and where its stores are."""

    folder: Path
    smtp: ScriptedSmtp
    sendmail: SendmailProgram
    tokens: TokenServer
    slack: SlackServer
    ntfy: NtfyServer
    web: MisbehavingServer
    ca_file: Path
    server: str = ""
    prepared: dict[str, Path] = field(default_factory=dict)
    posted: list[dict[str, Any]] = field(default_factory=list)
    cells: int = 0

    @property
    def mails(self) -> list[Received]:
        return [*self.smtp.received, *self.sendmail.received]

    @property
    def store(self) -> str:
        return "postgresql" if self.server else "sqlite"

    def settle(self) -> None:
        """Wait until the servers have dealt with all that came from processes that are gone."""
        wait(lambda: not self.smtp.talking)
        self.slack.settle()
        self.ntfy.settle()
        self.web.settle()

    def clear(self) -> None:
        self.smtp.received.clear()
        self.sendmail.clear()
        self.smtp.always.clear()
        self.smtp.script = defaultdict(type(self.smtp.script["dot"]))
        self.slack.posts.clear()
        self.slack.faults.clear()
        self.slack.always = None
        self.slack.most_characters = WHOLE_MESSAGE
        self.ntfy.published.clear()
        self.web.requests.clear()

    def template(self, scene: Scene) -> Path:
        """Return an installation that stands as it does before the harm."""
        if scene.name not in self.prepared:
            self.clear()
            folder = self.folder / f"template-{scene.name}"
            folder.mkdir()
            house = House(folder)
            if self.server:
                house.settings["store"] = self._database(folder.name)
            scene.prepare(house, self)
            house.write()
            self.prepared[scene.name] = folder
        return self.prepared[scene.name]

    def fresh(self, scene: Scene) -> Path:
        """Return a copy of a scene, its receivers empty."""
        template = self.template(scene)
        self.clear()
        scene.rearrange(self)
        self.cells += 1
        folder = self.folder / f"cell-{self.cells}"
        shutil.copytree(template, folder)
        if self.server:
            configure(folder, {"store": self._database(folder.name, template.name)})
        return folder

    def done(self, folder: Path) -> None:
        shutil.rmtree(folder)
        if self.server:
            postgres.execute(
                self.server, f'DROP DATABASE "{self._named(folder.name)}" WITH (FORCE)'
            )

    def _database(self, name: str, template: str = "template0") -> str:
        copied = template if template == "template0" else self._named(template)
        postgres.execute(self.server, f'CREATE DATABASE "{self._named(name)}" TEMPLATE "{copied}"')
        return f"{self.server}/{self._named(name)}"

    def _named(self, name: str) -> str:
        return f"{self.folder.name}-{name}"


def configure(folder: Path, settings: Mapping[str, Any]) -> None:
    """Change some of the settings of an installation."""
    config = folder / "monitor.yaml"
    changed = yaml.safe_load(config.read_text("utf-8")) | settings
    config.write_text(yaml.safe_dump(changed, sort_keys=False), encoding="utf-8")


@contextmanager
def stage(folder: Path, server: str = "") -> Iterator[Stage]:
    """Open the receivers. The mail server wants TLS and a login."""
    authority = trustme.CA()
    ca_file = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost", "127.0.0.1").configure_cert(tls)
    with ExitStack() as stack:
        tokens = stack.enter_context(TokenServer())
        offered = ("8BITMIME", "STARTTLS", "AUTH PLAIN XOAUTH2")
        smtp = ScriptedSmtp(extensions=offered, tls=tls, accepts=tokens.accepts)
        stack.enter_context(smtp)
        slack = stack.enter_context(SlackServer())
        ntfy = stack.enter_context(NtfyServer())
        web = stack.enter_context(misbehaving_server())
        sendmail = SendmailProgram(folder / "sendmail")
        yield Stage(folder, smtp, sendmail, tokens, slack, ntfy, web, ca_file, server)


# ── what arrived ────────────────────────────────────────────────────────────────────

Copies = Counter[tuple[str, str]]
_NUMBER = re.compile(r"Study Number (\d+) of")


def mailed(stage: Stage, folder: Path) -> Copies:
    """Count papers by reader; a mail that has none, to the operator, by what it is about."""
    found: Copies = Counter()
    for mail in stage.mails:
        numbers = set(_NUMBER.findall(mail.text)) or {mail.message["Subject"]}
        found.update((mail.recipient, str(n)) for n in numbers)
    return found


def mailed_and_clicked(stage: Stage, folder: Path) -> Copies:
    """Count papers by reader, and the wish of somebody who clicked."""
    found = mailed(stage, folder)
    with reading(folder) as tx:
        kept = suppressions.listing(tx, MORNING + timedelta(days=2), CLICKER)
    found.update((one.recipient, one.subscription) for one in kept if one.until is None)
    return found


def mailed_and_kept(stage: Stage, folder: Path) -> Copies:
    """Count papers and references by reader, what a library has, and what a list filled in."""
    found = mailed(stage, folder)
    with reading(folder) as tx:
        entries = collections.entries(tx, ["refs"], MORNING)
        found.update(("library", n) for n in _numbers(*(entry.paper.title for entry in entries)))
        found["rows", str(collections.counts(tx)["refs"])] += 1
        linked = tx.scalars(sa.text("SELECT title FROM paper WHERE url <> ''"))
        found.update(("linked", n) for n in _numbers(*linked))
    return found


def mailed_and_learned(stage: Stage, folder: Path) -> Copies:
    """Count papers by reader, the papers that match, and the words that are in force."""
    found = mailed(stage, folder)
    settings = yaml.safe_load((folder / "monitor.yaml").read_text("utf-8"))
    like = settings["topics"][TOPIC_OF_TEXT]["like"]
    examples, _ = read_examples(Path(like["file"]), SystemClock())
    with reading(folder) as tx:
        versions = like_words.versions(tx, TOPIC_OF_TEXT)
        stored = papers.load(tx, matches.newest_ids(tx, TOPIC_OF_TEXT, 100)).values()
    found["versions", str(len(versions))] += 1
    numbered = [words.version for words in versions] == [*range(len(versions), 0, -1)]
    if versions and numbered and versions[0].words == learn_words(like["text"], examples):
        found["in force", "whole"] += 1
    found.update(("matched", n) for n in _numbers(*(one.paper.title for one in stored)))
    return found


def _numbers(*titles: str) -> list[str]:
    return _NUMBER.findall("\n".join(titles))


def posted(stage: Stage, folder: Path) -> Copies:
    found: Copies = Counter()
    for post in stage.slack.posts:
        numbers = set(_NUMBER.findall(json.dumps(post["blocks"])))
        found.update((str(post["channel"]), n) for n in numbers)
    return found


def kept(stage: Stage, folder: Path) -> Copies:
    """Count papers as a receiver does that verifies each post and keeps its id."""
    found: Copies = Counter()
    by_id = {one.headers["webhook-id"]: one for one in hooked(stage)}
    for one in hooked(stage):
        Verifier(HOOK_SECRET).verify(one.body, dict(one.headers))
        assert one.body == by_id[one.headers["webhook-id"]].body, "each attempt has the same bytes"
    found.update(("team", n) for one in by_id.values() for n in set(_numbers(one.body.decode())))
    return found


def told(stage: Stage, folder: Path) -> Copies:
    """Count papers as a chat shows them, which knows no ids."""
    found: Copies = Counter()
    for one in hooked(stage):
        found.update(("team", n) for n in set(_numbers(one.body.decode())))
    return found


def hooked(stage: Stage) -> list[Asked]:
    return [one for one in stage.web.requests if one.target == HOOK]


def notified(stage: Stage, folder: Path) -> Copies:
    """Count papers as a phone shows them: a message takes the place of one with its id."""
    found: Copies = Counter()
    for message in stage.ntfy.shown:
        found.update(("phone", n) for n in set(_numbers(message["message"])))
    return found


def chatted(stage: Stage, folder: Path) -> Copies:
    found: Copies = Counter()
    for one in stage.web.requests:
        if one.target == GOTIFY:
            numbers = set(_numbers(json.loads(one.body)["message"]))
            found.update(("chat", n) for n in numbers)
    return found


def pages(stage: Stage, folder: Path) -> Copies:
    found: Copies = Counter()
    index = folder / "pages" / "index.html"
    for page in folder.glob("pages/lab/*.html"):
        listed = index.exists() and page.name in index.read_text("utf-8")
        numbers = set(_NUMBER.findall(page.read_text("utf-8")))
        found.update(("pages" if listed else "a page not listed", n) for n in numbers)
    return found


# ── scenes ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Scene:
    """What is prepared, run and expected.

    `points` begin the names of the boundaries that are this scene's. `window` are those after
    which nobody can know whether the other side has it. Where a process does several things
    `side_by_side`, harm to one of them may come while a mail is on its way.
    """

    name: str
    points: tuple[str, ...]
    arrived: Callable[[Stage, Path], Copies]
    expected: Mapping[str, Sequence[int | str]]
    window: frozenset[str] = frozenset()
    held: bool = False
    connections: int = 1
    now: datetime = MORNING
    words: tuple[str, ...] = ("run",)
    side_by_side: ClassVar[bool] = False
    news: ClassVar[Sequence[tuple[str, str]]] = (paper(1),)

    @property
    def wanted(self) -> set[tuple[str, str]]:
        return {(reader, str(n)) for reader, numbers in self.expected.items() for n in numbers}

    def prepare(self, house: House, stage: Stage) -> None:
        self.connect(house, stage)
        house.run()
        house.add("1.txt", *self.news)

    def connect(self, house: House, stage: Stage) -> None:
        """Set who is written to, and how; as it is, pages are written."""

    def rearrange(self, stage: Stage) -> None:
        """Set the servers as they are in the morning."""

    def act(self, folder: Path, order: Order) -> int:
        return process.run(folder, *self.words, "--now", at(self.now), order=order)

    def recover(self, folder: Path) -> None:
        """Run as a cron job would, two hours later."""
        self.run_later(folder, 2)

    def run_later(self, folder: Path, hours: int) -> None:
        status = process.run(folder, "run", "--now", at(self.now + timedelta(hours=hours)))
        assert status in (0, 1), f"the run after the harm ended with {status}"

    def resolve(self, stage: Stage, folder: Path) -> None:
        """Do what a person does about an uncertain delivery: look, and say what is there.

        What waits behind it, the rest of the same digest, then goes out.
        """
        with reading(folder) as tx:
            unknown = outbox.list_unknown(tx)
        later = "--now", at(self.now + timedelta(hours=5))
        for one in unknown:
            fate = self.fate(stage, one)
            process.run(folder, "deliveries", "resolve", str(one.id), fate, *later)
        process.run(folder, "run", *later)

    def fate(self, stage: Stage, delivery: Delivery) -> str:
        wanted = delivery.message_id.encode()
        text = json.dumps(delivery.rendered.body.get("blocks"))
        came = any(wanted in mail.content for mail in stage.mails)
        came = came or any(json.dumps(post["blocks"]) == text for post in stage.slack.posts)
        came = came or any(
            delivery.message_id.startswith(f"<{one.headers['webhook-id']}@")
            for one in hooked(stage)
        )
        return "sent" if came else "resend"


def at(moment: datetime) -> str:
    return moment.isoformat()


def by_mail(house: House, stage: Stage, *readers: str, **smtp: Any) -> None:
    """Let two readers, or these, be written to, over STARTTLS and with a login."""
    safe = {"host": "localhost", "tls": "starttls", "ca_file": str(stage.ca_file)}
    login = {"username": "papers", "password": "open sesame"}
    house.by_mail(stage.smtp.port, *(readers or READERS), **safe, **login, **smtp)


class ByMail(Scene):
    """Two dumps and a feed, two readers."""

    def prepare(self, house: House, stage: Stage) -> None:
        by_mail(house, stage, unknown="hold" if self.held else "resend")
        result = {"kind": "feed", "url": stage.web.url("/feed"), "allow_private": True}
        house.settings["sources"]["journal"] = result
        house.add("1.txt", paper(1))
        stage.web.answers("/feed", body=feed(2))
        house.run()
        house.add("2.txt", paper(3), paper(4))

    def rearrange(self, stage: Stage) -> None:
        stage.web.answers("/feed", body=feed(2, 5), headers={"ETag": '"two"'})


class WithoutAccount(Scene):
    """One dump, two readers, and mail by LMTP or a program of this machine."""

    def connect(self, house: House, stage: Stage) -> None:
        by_mail(house, stage)
        program = {"sendmail": str(stage.sendmail.path)}
        here = {"lmtp": f"127.0.0.1:{stage.smtp.port}"} if "lmtp" in self.name else program
        house.settings["smtp"] = {**here, "from": "papers@example.org"}


class ByToken(Scene):
    """One dump, two readers, and a refresh token that is replaced at each use."""

    def connect(self, house: House, stage: Stage) -> None:
        by_mail(house, stage)
        oauth = {
            "provider": "other",
            "token_url": stage.tokens.url,
            "scope": "mail",
            "client_id": "app",
            "refresh_token": FIRST_REFRESH_TOKEN,
        }
        del house.settings["smtp"]["password"]
        house.settings["smtp"]["oauth"] = oauth

    def rearrange(self, stage: Stage) -> None:
        stage.tokens.refresh_tokens = {FIRST_REFRESH_TOKEN}


class AfterAnOutage(ByMail):
    """Yesterday's digest reached nobody: it is superseded, and the operator hears of the end."""

    def prepare(self, house: House, stage: Stage) -> None:
        super().prepare(house, stage)
        self.rearrange(stage)
        house.settings["operator"] = {"email": "ops@example.org"}
        stage.smtp.always["greeting"] = "421 4.3.2 shutting down"
        house.clock.at = MORNING
        house.run()
        house.add("3.txt", paper(6))


class WithReferences(Scene):
    """A library that an entry has left and another one joins, notices, and a list of links.

    Only the notices of 7 and 8 are of references that the library still has.
    """

    def prepare(self, house: House, stage: Stage) -> None:
        by_mail(house, stage)
        jsonl = {"kind": "jsonl", "first_run": "baseline"}
        house.settings["sources"] |= {
            "refs": {"kind": "jsonl", "path": "refs.jsonl", "role": "library"},
            "notices": jsonl | {"path": "notices-*.jsonl"},
            "list": {"kind": "jsonl", "path": "list.jsonl", "role": "reference"},
        }
        house.settings["subscriptions"]["lab"]["guard"] = "refs"
        twin = {"title": f"{title(1)} and of Others", "url": "https://list.example.org/2"}
        _write_records(house, "notices-0", {"title": "On the Sand of Some Beaches"})
        _write_records(house, "list", twin)
        for numbers in ((7, 8, 9), (7, 8)):
            _write_records(house, "refs", *map(_reference, numbers))
            house.run()
        house.add("1.txt", *self.news)
        _write_records(house, "refs", *map(_reference, (7, 8, 11)))
        near = _reference(8) | {"title": title(12), "doi": "10.5555/12", "withdrawn": True}
        notices = [_notice(7, "retraction"), _notice(8, "correction"), _notice(9, "retraction")]
        _write_records(house, "notices-1", *notices, near)
        known, abstract = self.news[0]
        own = {"title": known, "abstract": abstract, "url": "https://list.example.org/1"}
        _write_records(house, "list", twin, own)


class WithLookUp(Scene):
    """One dump, two readers, and two services, of which the first has no paper."""

    def prepare(self, house: House, stage: Stage) -> None:
        by_mail(house, stage)
        service = {"url": stage.web.url(""), "allow_private": True}
        house.settings["look_up"] = {
            "services": {"huggingface": service, "semantic-scholar": service}
        }
        super().prepare(house, stage)

    def rearrange(self, stage: Stage) -> None:
        known, abstract = self.news[0]
        record = {
            "paperId": "5ec0",
            "title": known,
            "abstract": abstract,
            "externalIds": {"ArXiv": "2611.00001"},
            "authors": [{"name": "Ada Lovelace"}],
            "year": 2026,
        }
        none = json.dumps([]).encode()
        one = json.dumps({"data": [record]}).encode()
        stage.web.decides("*", lambda asked: Answer(body=none if "/api/" in asked.target else one))


class WithSaved(Scene):
    """Two readers, of whom one saved a paper, and a service that says that it was retracted."""

    def prepare(self, house: House, stage: Stage) -> None:
        by_mail(house, stage)
        jsonl = {"kind": "jsonl", "path": "list.jsonl", "first_run": "baseline"}
        house.settings["sources"] = {"list": jsonl}
        service = {"url": stage.web.url(""), "allow_private": True}
        house.settings["look_up"] = {"services": {"crossref": service}}
        _write_records(house, "list", _reference(7) | {"url": "https://list.example.org/7"})
        house.run()
        with house.opened() as app:
            rate_any(app.runtime, title(7), "save", ["lab"], READERS[0])

    def rearrange(self, stage: Stage) -> None:
        notice = {"DOI": "10.5555/n7", "type": "retraction"}
        record = {"DOI": "10.5555/7", "title": [title(7)], "updated-by": [notice]}
        message = {"total-results": 1, "items": [record]}
        answer = {"status": "ok", "message-type": "work-list", "message": message}
        stage.web.decides("*", lambda asked: Answer(body=json.dumps(answer).encode()))


# The papers of a topic that is like a text, by which another one is added.
BY_WORDS = range(11, 19)


class WithEmbeddings(Scene):
    """Two readers of a topic that is like a text, and a model that adds a paper just below it."""

    news = ((title(1), "Study 1. Four benchmarks need steps."),)

    def prepare(self, house: House, stage: Stage) -> None:
        by_mail(house, stage)
        text = "language agents that share plans in writing, four benchmarks need fewer steps"
        house.settings["topics"] = {"agents": {"like": {"text": text, "at_least": 0.5}}}
        url = stage.web.url("/v1")
        house.settings["embeddings"] = {"url": url, "model": "tiny", "allow_private": True}
        self.rearrange(stage)
        house.run()
        house.ingest(*map(paper, BY_WORDS))
        with house.opened() as app:
            embed(app.runtime)
            embed(app.runtime)
        house.add("2.txt", *self.news)

    def rearrange(self, stage: Stage) -> None:
        """Let all texts be the same to the model."""

        def answer(asked: Asked) -> Answer:
            texts = json.loads(asked.body)["input"]
            data = [{"index": at, "embedding": [1.0, 2.0]} for at in range(len(texts))]
            return Answer(body=json.dumps({"data": data}).encode())

        stage.web.decides("/v1/embeddings", answer)


TOPIC_OF_TEXT = "agents"
LIKE = "language agents that share their plans in writing, and need fewer steps on benchmarks"


class WithWords(Scene):
    """Two readers of a topic that is like a text and examples, both of which changed overnight."""

    text: ClassVar[str] = "language agents that plan alone"
    news = (paper(2),)

    def prepare(self, house: House, stage: Stage) -> None:
        by_mail(house, stage)
        # Beside the folder, copies of which would else have a topic with another file.
        examples = stage.folder / f"{self.name}.bib"
        like = {"text": self.text, "file": str(examples), "at_least": 0.3}
        house.settings["topics"] = {TOPIC_OF_TEXT: {"like": like}}
        _write_examples(examples, "Agents that Plan")
        house.run(paper(1))
        _write_examples(examples, "Agents that Plan", "Agents that Share a Notebook")
        like["text"] = LIKE
        house.add("2.txt", *self.news)


class ActivatedTwice(WithWords):
    """Two processes have learned the words, and put them in force at the same moment.

    The second one is harmed.
    """

    def act(self, folder: Path, order: Order) -> int:
        pause = "topics: begin"
        now = "--now", at(self.now)
        first = process.start(folder, "run", *now, order=Order(pause=pause))
        try:
            process.wait_for_pause(first)
            second = process.start(folder, "run", *now, order=replace(order, pause=pause))
            process.wait_for_pause(second)
        finally:
            process.resume(first)
        process.resume(second)
        assert process.ended(first) == 0
        return process.ended(second)


class Relearned(WithWords):
    """Examples were added, and a person has the words of the same text learned again."""

    text = LIKE

    def recover(self, folder: Path) -> None:
        """Ask for it again, unless it was done."""
        with reading(folder) as tx:
            is_done = len(like_words.versions(tx, TOPIC_OF_TEXT)) > 1
        if not is_done:
            assert process.run(folder, *self.words, "--now", at(self.now)) == 0
        super().recover(folder)


class RelearnedMeanwhile(Relearned):
    """The same, at the moment at which another process has matched papers by the older words."""

    def act(self, folder: Path, order: Order) -> int:
        pause = Order(pause="matches: begin")
        matching = process.start(folder, "run", "--now", at(self.now), order=pause)
        try:
            process.wait_for_pause(matching)
            status = super().act(folder, order)
        finally:
            process.resume(matching)
        assert process.ended(matching) == 0
        return status


def _write_examples(file: Path, *titles: str) -> None:
    entries = (f"@article{{a{n}, title={{{title}}}}}\n" for n, title in enumerate(titles))
    file.write_text("".join(entries), encoding="utf-8")


def _write_records(house: House, name: str, *records: dict[str, Any]) -> None:
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    (house.folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def _reference(number: int) -> dict[str, Any]:
    return {"title": title(number), "doi": f"10.5555/{number}", "authors": [f"Ada {number}"]}


def _notice(number: int, kind: str) -> dict[str, Any]:
    about = {"doi": f"10.5555/{number}"}
    return {"title": f"{kind} of sand", "type": kind, "about": about, "doi": f"10.5555/n{number}"}


class AtOnce(Scene):
    """Eight readers by four connections, whose commits are shared.

    Whichever is at whatever point, the others may be in the middle of a hand-off.
    """

    def connect(self, house: House, stage: Stage) -> None:
        unsure = "hold" if self.held else "resend"
        by_mail(house, stage, *CROWD, unknown=unsure, connections=self.connections)


class Serving(ByMail):
    """The service itself, at the moment of the digest, until all has arrived or it is dead."""

    side_by_side = True

    def act(self, folder: Path, order: Order) -> int:
        running = process.start(folder, "serve", "--now", at(self.now), order=order)
        seconds = FULL_FOR if order.harm == "full" else PATIENCE
        with suppress(AssertionError):
            wait(lambda: not running.is_alive() or self._is_done(folder), seconds)
        running.terminate()
        return process.ended(running)

    def _is_done(self, folder: Path) -> bool:
        states = standing(folder)
        return states[DeliveryState.SENT] == len(READERS) and not any(states[one] for one in OPEN)


class WithPages(Serving):
    """The pages beside the service: somebody stops a subscription at the moment of the digest.

    The pages are harmed. Where the click is not answered, it comes again.
    """

    def prepare(self, house: House, stage: Stage) -> None:
        super().prepare(house, stage)
        house.settings |= PAGES
        other = {"topics": ["*"], "email": [CLICKER], "schedule": "monthly 1 08:00"}
        house.settings["subscriptions"]["other"] = other

    def act(self, folder: Path, order: Order) -> int:
        client = self._pages(folder)
        result = []
        service = process.start(folder, "serve", "--no-pages", "--now", at(self.now))
        pages = process.start(folder, "web", "--now", at(self.now), order=order)
        seconds = FULL_FOR if order.harm == "full" else PATIENCE

        def is_over() -> bool:
            if not result and self.click(client):
                result.append(True)
            return (bool(result) or not pages.is_alive()) and self._is_done(folder)

        with suppress(AssertionError):
            wait(is_over, seconds)
        service.terminate()
        pages.terminate()
        process.ended(service)
        return process.ended(pages)

    def recover(self, folder: Path) -> None:
        client = self._pages(folder)
        running = process.start(folder, "web", "--now", at(self.now))
        wait(lambda: self.click(client))
        running.terminate()
        process.ended(running)
        super().recover(folder)

    def click(self, client: httpx.Client) -> bool:
        """Look at some pages, and stop a subscription by a link; say whether that was answered."""
        token = KeyRing((KEY,)).sign("stop", "other", CLICKER)
        try:
            for path in ("/", "/deliveries", "/papers?q=agents", f"/u/{token}"):
                client.get(path)
            answer = client.post(f"/u/{token}", data={"List-Unsubscribe": "One-Click"})
        except httpx.HTTPError:
            return False
        return answer.status_code == 200

    def _pages(self, folder: Path) -> httpx.Client:
        """Give the pages a free port, and return what asks for them."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            listen = f"127.0.0.1:{probe.getsockname()[1]}"
        configure(folder, {"web": {"listen": listen, "token": KEY}})
        host = {"Host": "papers.example.org", "Authorization": f"Bearer {KEY}"}
        return httpx.Client(base_url=f"http://{listen}", headers=host, timeout=PATIENCE)


class RelearnedOnPage(WithWords, WithPages):
    """Examples were added, and a person presses the button beside the service, which matches.

    The pages are harmed. Without an answer, the person looks whether it was done.
    """

    text = LIKE

    def prepare(self, house: House, stage: Stage) -> None:
        super().prepare(house, stage)
        house.settings |= PAGES

    def click(self, client: httpx.Client) -> bool:
        """Press the button unless the page shows new words; say whether these were there."""
        topic = f"/topics/{TOPIC_OF_TEXT}"
        try:
            if "Version 2" in client.get(topic).text:
                return True
            client.post(f"{topic}/relearn", headers={"Sec-Fetch-Site": "same-origin"})
        except httpx.HTTPError:
            pass
        return False


class NewStore(ByMail):
    """A store that is made on the first morning; the first digest is due on the second."""

    def prepare(self, house: House, stage: Stage) -> None:
        by_mail(house, stage)
        house.add("1.txt", *(paper(n) for n in MAIL[READERS[0]]))

    def recover(self, folder: Path) -> None:
        super().recover(folder)
        self.run_later(folder, 25)


def by_webhook(house: House, stage: Stage) -> None:
    house.settings["channels"] = {"team": {"kind": "slack", "webhook": stage.slack.webhook}}
    house.settings["subscriptions"]["lab"]["channels"] = ["team"]


class BySlack(Scene):
    """So much news that it takes a message and a reply in its thread."""

    news = tuple(paper(n, sentences=4) for n in range(1, SLACK_PAPERS + 1))

    def connect(self, house: House, stage: Stage) -> None:
        house.by_slack(stage.slack)
        house.settings["subscriptions"]["lab"]["max"] = SLACK_PAPERS


class LostBySlack(BySlack):
    """Slack took a message and its answer was lost: its history is asked."""

    def prepare(self, house: House, stage: Stage) -> None:
        super().prepare(house, stage)
        stage.slack.faults.append(Fault(kept=True, reset=True))
        house.clock.at = MORNING
        house.run()
        stage.posted = [*stage.slack.posts]

    def rearrange(self, stage: Stage) -> None:
        stage.slack.posts.extend(stage.posted)


class TooLongForSlack(BySlack):
    """Slack takes shorter messages than was thought."""

    def rearrange(self, stage: Stage) -> None:
        stage.slack.most_characters = 7_000


class ByWebhook(BySlack):
    def connect(self, house: House, stage: Stage) -> None:
        super().connect(house, stage)
        house.settings.pop("slack")
        by_webhook(house, stage)


class BySignedWebhook(Scene):
    """One dump, and a program that gets digests as JSON."""

    settings: ClassVar[Mapping[str, Any]] = {"secret": HOOK_SECRET}

    def connect(self, house: House, stage: Stage) -> None:
        self.rearrange(stage)
        hook = {"kind": "webhook", "url": stage.web.url(HOOK), "allow_private": True}
        house.settings["channels"] = {"team": hook | dict(self.settings)}
        house.settings["subscriptions"]["lab"]["channels"] = ["team"]

    def rearrange(self, stage: Stage) -> None:
        stage.web.answers(HOOK, 204)


class ByChat(BySignedWebhook):
    """So much news that a chat gets it in several messages."""

    news = tuple(paper(n, sentences=4) for n in range(1, CHAT_PAPERS + 1))
    settings: ClassVar[Mapping[str, Any]] = {"template": "discord"}


class ByNtfy(Scene):
    """So much news that it takes two notifications."""

    news = tuple(paper(n) for n in range(1, PHONE_PAPERS + 1))

    def connect(self, house: House, stage: Stage) -> None:
        phone = {"kind": "ntfy", "url": stage.ntfy.url, "topic": TOPIC, "token": TOKEN}
        house.settings["channels"] = {"phone": phone | {"allow_private": True}}
        house.settings["subscriptions"]["lab"]["channels"] = ["phone"]


class ByApprise(Scene):
    """So much news that a service of short messages gets two."""

    news = tuple(paper(n) for n in range(1, CHAT_PAPERS + 1))

    def connect(self, house: House, stage: Stage) -> None:
        self.rearrange(stage)
        url = stage.web.url("/Aabcdef12345678").replace("http", "gotify")
        house.settings["channels"] = {"chat": {"kind": "apprise", "url": url, "limit": 1_200}}
        house.settings["subscriptions"]["lab"]["channels"] = ["chat"]

    def rearrange(self, stage: Stage) -> None:
        stage.web.answers(GOTIFY, body=b"{}")


class LargeDocument(Scene):
    """A document so large that a process of its own reads it."""

    news = tuple(paper(n, sentences=40) for n in range(1, 7))


MAIL = dict.fromkeys(READERS, (1, 2, 3, 4, 5))
BOTH = dict.fromkeys(READERS, (1,))
ALL = dict.fromkeys(CROWD, (1,))
LEARNED = dict.fromkeys((*READERS, "matched"), (1, 2)) | {"versions": (2,), "in force": ("whole",)}
LEARNING = ("words:", "topics")
RELEARN = ("topics", "relearn", "agents")
SLACK = range(1, SLACK_PAPERS + 1)
AFTER_THE_DOT = frozenset(
    {
        "hand-off: committed",
        "smtp dot: begin",
        "smtp dot: sent",
        "smtp dot: answered",
        "outcome: begin",
        "outcome: unfinished",
    }
)
AFTER_THE_START = AFTER_THE_DOT | {"sendmail: begin", "sendmail: started", "sendmail: ended"}
AFTER_THE_POST = AFTER_THE_DOT | {f"slack webhook: {step}" for step in ("sent", "answered")}
AFTER_A_POST = AFTER_THE_DOT | {"post: sent", "post: answered"}
AFTER_THE_DOT_AND_ON = (*AFTER_THE_DOT, "settling", "outcome")
OUTBOX = ("settling", "claim", "hand-off", "outcome")
BY_TOKEN = ("fetch", "refresh token", "smtp AUTH", "outcome")
SENDING = (*OUTBOX, "smtp dot")
SCENES: dict[str, Scene] = {
    scene.name: scene
    for scene in (
        ByMail("mail", ("",), mailed, MAIL, AFTER_THE_DOT),
        ByMail("mail, held", AFTER_THE_DOT_AND_ON, mailed, MAIL, AFTER_THE_DOT, held=True),
        AfterAnOutage(
            "after an outage",
            ("subscriptions", "digest", "composed", "operator", "outcome", "smtp greeting"),
            mailed,
            {reader: (*numbers, 6) for reader, numbers in MAIL.items()},
            AFTER_THE_DOT,
            now=MORNING + timedelta(days=1),
        ),
        AtOnce("mail, at once", SENDING, mailed, ALL, frozenset(SENDING), connections=4),
        AtOnce(
            "mail, at once, held",
            SENDING,
            mailed,
            ALL,
            frozenset(SENDING),
            held=True,
            connections=4,
        ),
        WithReferences(
            "references",
            ("chunk", "entries", "filled in", "digest"),
            mailed_and_kept,
            dict.fromkeys(READERS, (1, 7, 8))
            | {"library": (7, 8, 11), "rows": (3,), "linked": (1,)},
        ),
        WithLookUp("looked up", ("look-up", "fetch"), mailed, BOTH),
        WithSaved("saved", ("saved paper", "look-up", "fetch"), mailed, {READERS[0]: (7,)}),
        WithEmbeddings(
            "embedded",
            ("embeddings", "papers", "fetch"),
            mailed,
            dict.fromkeys(READERS, (1, *BY_WORDS)),
        ),
        WithWords("like a text", (*LEARNING, "read in like_topics"), mailed_and_learned, LEARNED),
        ActivatedTwice("activated twice", LEARNING, mailed_and_learned, LEARNED),
        Relearned(
            "learned again",
            ("words", "relearned", "read in like_topics"),
            mailed_and_learned,
            LEARNED,
            words=RELEARN,
        ),
        RelearnedMeanwhile(
            "learned meanwhile", ("relearned",), mailed_and_learned, LEARNED, words=RELEARN
        ),
        RelearnedOnPage(
            "learned on a page",
            ("words", "relearned", "read in like_topics"),
            mailed_and_learned,
            LEARNED,
        ),
        Serving("serve", ("service", "heartbeat"), mailed, MAIL),
        WithPages(
            "serve, with pages",
            ("wish",),
            mailed_and_clicked,
            {**MAIL, CLICKER: ("other",)},
        ),
        NewStore("new store", ("migration", "owner", "topics"), mailed, MAIL),
        ByMail("backup", ("backup",), mailed, MAIL, words=("backup", "copy.db")),
        WithoutAccount("mail by lmtp", ("smtp",), mailed, BOTH, AFTER_THE_DOT),
        WithoutAccount("mail by sendmail", ("sendmail", *OUTBOX), mailed, BOTH, AFTER_THE_START),
        ByToken("mail by token", BY_TOKEN, mailed, BOTH, AFTER_THE_DOT),
        BySlack("slack", ("slack", *OUTBOX), posted, {"C0PAPERS1": SLACK}),
        LostBySlack(
            "slack, asked",
            ("slack", *OUTBOX, "read in deliver"),
            posted,
            {"C0PAPERS1": SLACK},
            now=MORNING + timedelta(minutes=20),
        ),
        TooLongForSlack("slack, too long", ("part split",), posted, {"C0PAPERS1": SLACK}),
        ByWebhook(
            "webhook", ("slack", *OUTBOX), posted, {"webhook": SLACK}, AFTER_THE_POST, held=True
        ),
        BySignedWebhook("signed webhook", ("post", *OUTBOX), kept, {"team": (1,)}),
        ByChat(
            "webhook of a chat",
            ("post", *OUTBOX),
            told,
            {"team": range(1, CHAT_PAPERS + 1)},
            AFTER_A_POST,
            held=True,
        ),
        ByNtfy("ntfy", ("post", *OUTBOX), notified, {"phone": range(1, PHONE_PAPERS + 1)}),
        ByApprise(
            "apprise",
            ("apprise", *OUTBOX),
            chatted,
            {"chat": range(1, CHAT_PAPERS + 1)},
            AFTER_THE_DOT | {"apprise: begin", "apprise: ended"},
        ),
        LargeDocument("large document", ("worker", "document"), pages, {"pages": range(1, 7)}),
        Scene("pages", ("page", "index", *OUTBOX), pages, {"pages": (1,)}),
    )
}


# ── the verdict ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Verdict:
    """What became of one cell: counts of (reader, paper), and of rows."""

    harm: str
    store: str
    status: int
    harmed: bool
    lost: int
    false: int
    repeated: int
    unknown: int
    stuck: int
    window: bool
    held: bool
    connections: int
    under_way: int

    @property
    def fault(self) -> str:
        """Say what is wrong, "" for nothing.

        In the window of the hand-off a mail may come twice, or, where it is held, be unknown until
        a person has looked: one for each open connection. `under_way` are the hand-offs that the
        store knew to be open after the harm, where several things are done side by side.
        """
        wrong = []
        if not self.harmed:
            wrong.append("the point was not reached")
        elif self.harm == "kill" and self.status != process.KILLED:
            wrong.append("it was not killed there")
        if self.lost:
            wrong.append(f"{self.lost} lost")
        if self.false:
            wrong.append(f"{self.false} that are not true")
        if self.repeated > max(self.connections if self.window else 0, self.under_way):
            wrong.append(f"{self.repeated} repeated")
        if self.unknown > (self.connections if self.held else 0):
            wrong.append(f"{self.unknown} unknown")
        if self.stuck:
            wrong.append(f"{self.stuck} stuck")
        return ", ".join(wrong)


def play(stage: Stage, scene: Scene, order: Order) -> Verdict:
    """Do the harm, recover, and judge."""
    folder = stage.fresh(scene)
    status = scene.act(folder, order)
    stage.settle()
    under_way = standing(folder)[DeliveryState.HANDING_OFF] if scene.side_by_side else 0
    scene.recover(folder)
    unknown = standing(folder)[DeliveryState.UNKNOWN]
    if scene.held and unknown:
        scene.resolve(stage, folder)
    came = scene.arrived(stage, folder)
    # What could not be read in the morning is reported in the next one.
    if scene.wanted - set(came):
        scene.run_later(folder, 25)
        came = scene.arrived(stage, folder)
    wanted = scene.wanted
    states = standing(folder)
    # A name that begins so many points stands for all of them.
    window = bool({order.point, order.point.partition(":")[0]} & scene.window)
    verdict = Verdict(
        order.harm,
        stage.store,
        status,
        harmed=(folder / HARMED).exists(),
        lost=len(wanted - set(came)),
        false=len({(to, n) for to, n in came if to in scene.expected and n.isdigit()} - wanted),
        repeated=repeats(came),
        unknown=unknown,
        stuck=sum(states[state] for state in OPEN) + open_runs(folder),
        window=window and not scene.held,
        held=window and scene.held,
        connections=scene.connections,
        under_way=under_way,
    )
    if not verdict.fault:
        stage.done(folder)
    return verdict


def repeats(came: Copies) -> int:
    """Count the messages too many; one that tells of five papers twice is one."""
    most: Counter[str] = Counter()
    for (reader, _), count in came.items():
        most[reader] = max(most[reader], count - 1)
    return most.total()


@contextmanager
def reading(folder: Path) -> Iterator[Transaction]:
    """Open the store of an installation to look into it."""
    result: dict[str, Any] = yaml.safe_load((folder / "monitor.yaml").read_text("utf-8"))
    database = Database(result.get("store", f"sqlite:///{folder / 'data' / 'monitor.db'}"))
    with closing(database), database.reading() as tx:
        yield tx


def standing(folder: Path) -> Counter[DeliveryState]:
    with reading(folder) as tx:
        return Counter(deliveries.counts(tx))


def open_runs(folder: Path) -> int:
    with reading(folder) as tx:
        return tx.scalar(sa.text("SELECT count(*) FROM run WHERE finished_at IS NULL")) or 0
