"""The boundaries of I/O by their names, and the harm that is done at one of them.

Nothing of this is in the product. A process under test is the program with its doors to the
outside wrapped: the transactions of the store, what is said to mail servers and Slack and what they
answer, what is written to files, what is asked of a server. At each door it calls `reach` with a
name that stays the same from run to run; `reach` counts, and where the order says so does the harm:

    kill    SIGKILL to this process, at once
    raise   an error that nobody thought of
    full    the disk is full, from here to the end of the process
    cut     the connection is cut: the socket is shut down under whoever uses it
"""

from __future__ import annotations

import errno
import json
import os
import signal
import smtplib
import socket
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import sqlalchemy as sa

HARMS = ("kill", "raise", "full", "cut")
# Made in the folder of the process when the harm is done: a point never reached proves nothing.
HARMED = "harmed"

Cut = Callable[[], None]


class InjectedError(RuntimeError):
    """An error that nobody thought of."""


@dataclass(frozen=True)
class Order:
    """What is to happen at the `hit`-th time that `point` is reached; `trace` takes all names.

    At `pause` the process stops itself by SIGSTOP, once, until it is sent SIGCONT.
    """

    point: str = ""
    harm: str = ""
    hit: int = 1
    trace: Path | None = None
    pause: str = ""


class Points:
    def __init__(self, order: Order) -> None:
        self.order = order
        self.hits: Counter[str] = Counter()
        self.counting = threading.Lock()
        self.full = False
        self.harmed = Path(HARMED).absolute()

    def reach(self, name: str, cut: Cut | None = None) -> None:
        with self.counting:  # of those that send at the same time, one is the one
            self.hits[name] += 1
            hit = self.hits[name]
            if self.order.trace:
                with self.order.trace.open("a", encoding="utf-8") as trace:
                    trace.write(f"{name}\n")
        if (name, hit) == (self.order.pause, 1):
            os.kill(os.getpid(), signal.SIGSTOP)
        if (name, hit) != (self.order.point, self.order.hit):
            return
        self.harmed.touch()
        match self.order.harm:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "raise":
                raise InjectedError(f"injected at {name}")
            case "full":
                self.full = True
            case "cut":
                assert cut, f"nothing can be cut at {name}"
                cut()

    def comes(self, name: str, harm: str) -> bool:
        """Say whether the harm is to be done when `name` is reached the next time."""
        order = self.order
        comes = (order.point, order.harm, order.hit) == (name, harm, self.hits[name] + 1)
        if comes:
            self.harmed.touch()
        return comes

    def room(self) -> None:
        """Raise what a file system says that has no room left."""
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _around(points: Points, owner: Any, name: str, before: str, after: str) -> None:
    """Reach a point before a function is called, where no server can be reached, and one after."""
    call = getattr(owner, name)

    def called(*arguments: Any, **named: Any) -> Any:
        points.reach(before, _unreachable)
        result = call(*arguments, **named)
        points.reach(after)
        return result

    setattr(owner, name, called)


def install(order: Order) -> None:
    """Wrap the doors of this process; for its whole life."""
    points = Points(order)
    _store(points)
    _migration(points)
    _smtp(points)
    _sendmail(points)
    _slack(points)
    _apprise(points)
    _files(points)
    _door(points)
    _reading(points)
    _learning(points)
    _no_waits()


# ── the store ───────────────────────────────────────────────────────────────────────

# Who opens a transaction, and what it is called. A transaction that is not here has no name,
# and a test says so.
TRANSACTIONS = {
    "monitor.pipeline.compose._report_clock": "clock",
    "monitor.pipeline.compose._compose_each": "next due",
    "monitor.pipeline.freeze.freeze": "digest",
    "monitor.pipeline.compose._record_failure": "composed badly",
    "monitor.pipeline.topic_words.TopicWords.save": "word counts",
    "monitor.pipeline.freeze.split": "part split",
    "monitor.pipeline.freeze.notify": "operator notified",
    "monitor.pipeline.incidents.note_outage": "outage",
    "monitor.pipeline.freeze.render_again": "rendered again",
    "monitor.pipeline.deliver.Round._claim_on": "claim",
    "monitor.pipeline.deliver.Round._hand_off": "hand-off",
    "monitor.pipeline.deliver.Round._put_back": "outcome",
    "monitor.pipeline.deliver.Round._record_batch": "outcome",
    "monitor.pipeline.deliver.Round._let_go": "claim put back",
    "monitor.pipeline.settle_deliveries.settle_unknown": "settling",
    "monitor.pipeline.settle_deliveries.settle_by_hand": "settled by hand",
    "monitor.pipeline.source_health.note_gap": "gap",
    "monitor.pipeline.store_chunk.RunRecorder.discard": "run discarded",
    "monitor.pipeline.store_chunk.RunRecorder.finish": "run ended",
    "monitor.pipeline.store_chunk.RunRecorder.start": "run begun",
    "monitor.pipeline.store_chunk.RunRecorder._commit": "chunk",
    "monitor.pipeline.ingest.ingest": "source",
    "monitor.pipeline.roles.Entries.begin_document": "entries begun",
    "monitor.pipeline.roles.Entries.mark_other_documents_missing": "entries left",
    "monitor.pipeline.reference_lists.fill_stored": "filled in",
    "monitor.pipeline.guard.look_up_stored": "stored notices",
    "monitor.pipeline.roles.Library.end_source": "entries unguarded",
    "monitor.pipeline.source_health.judge": "source judged",
    "monitor.pipeline.look_up.queue": "look-up queued",
    "monitor.pipeline.look_up._Round.run": "look-up put off",
    "monitor.pipeline.look_up._Round._let_go": "look-up let go",
    "monitor.pipeline.look_up._Round._give_up": "look-up given up",
    "monitor.pipeline.look_up.drop_removed_services": "look-ups left",
    "monitor.pipeline.service_round.ServiceRound.ask": "look-up begun",
    "monitor.pipeline.service_round.ServiceRound._store": "look-up answered",
    "monitor.pipeline.service_round.ServiceRound._note_failure": "look-up failed",
    "monitor.pipeline.saved_papers.follow": "saved paper followed",
    "monitor.pipeline.saved_papers.SavedRound.run": "saved paper put off",
    "monitor.pipeline.saved_papers.SavedRound._put_off": "saved paper asked later",
    "monitor.pipeline.look_up.ask_about": "look-up asked for",
    "monitor.pipeline.embeddings.queue": "embeddings queued",
    "monitor.pipeline.embeddings._drop_other_models": "embeddings left",
    "monitor.pipeline.embeddings._Asking.ask_about_topics": "topics forgotten",
    "monitor.pipeline.embeddings._Asking._ask_about_topics": "topics embedded",
    "monitor.pipeline.embeddings._Asking.ask_about_papers": "embeddings put off",
    "monitor.pipeline.embeddings._Asking._ask_about_papers": "papers embedded",
    "monitor.pipeline.embeddings._Asking._spend": "embeddings begun",
    "monitor.pipeline.embeddings._Asking._note_failure": "embeddings failed",
    "monitor.pipeline.embeddings._add_near": "papers added",
    "monitor.pipeline.embeddings._choose_least": "least chosen",
    "monitor.commands.look_up.unfill": "taken out",
    "monitor.pipeline.match._look_back": "topics",
    "monitor.pipeline.like_topics.relearn": "relearned",
    "monitor.pipeline.match.sync_subscriptions": "subscriptions",
    "monitor.pipeline.match.match": "matches",
    "monitor.pipeline.match._look_again": "what grew",
    "monitor.pipeline.cleanup.make_searchable": "search index",
    "monitor.pipeline.cleanup._all": "clean-up",
    "monitor.commands.heartbeat.end_of_life": "service ended",
    "monitor.commands.heartbeat.sign_of_life": "heartbeat",
    "monitor.commands.heartbeat.take_over": "round recorded",
    "monitor.service.process.Running._reload": "configuration",
    "monitor.service.process.Running._announce": "service",
    "monitor.store.engine.database.Database.probe": "probe",
    "monitor.store.secrets.KeptTokens.save": "refresh token",
    "monitor.store.restore._hold": "restored held",
    "monitor.store.engine.opening._create_tables": "migration",
    "monitor.commands.suppressions.apply_change": "wish",
    "monitor.store.secrets.make_signing_key": "signing key",
    "monitor.service.slack_listener._record": "slack connection",
    "monitor.web.pages.deliveries.send_again": "sent again by page",
    "monitor.web.pages.deliveries.suppress": "suppression by page",
    "monitor.web.pages.deliveries.lift": "suppression lifted by page",
    "monitor.commands.ratings.rate": "rated",
    "monitor.commands.ratings.forget": "ratings forgotten",
    "monitor.commands.suppressions.suppress": "suppression",
    "monitor.cli.suppressions.suppressions_lift": "suppression lifted",
    "monitor.cli.suppressions.suppressions_confirm": "suppressions confirmed",
    "monitor.store.sources.reading_state.Servers.record_move": "address moved",
    "monitor.store.sources.reading_state.Servers.record_wait": "server waits",
}


def _openers() -> list[str]:
    """Return the name of the function that opens a transaction, or has it opened for it.

    Of what several threads write together, all that is done in it: who of them commits is chance.
    """
    frame = sys._getframe(2)
    passed_on = ("contextlib.py", "database.py")
    while frame.f_code.co_filename.endswith(passed_on) or frame.f_code.co_name == "repeat":
        if frame.f_code.co_qualname == "Database.probe":
            break
        if frame.f_code.co_qualname == "Together._commit":
            steps = frame.f_locals["kinds"]
            return [f"{step.__module__}.{step.__qualname__}" for step in steps]
        assert frame.f_back
        frame = frame.f_back
    return [f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}"]


def _store(points: Points) -> None:
    from monitor.store.engine import database

    begin = database.Database.writing

    def writing(self: database.Database) -> AbstractContextManager[sa.Connection]:
        result = (TRANSACTIONS.get(opener, f"UNNAMED {opener}") for opener in _openers())
        names = list(dict.fromkeys(result))

        @contextmanager
        def transaction() -> Iterator[sa.Connection]:
            for name in names:
                points.reach(f"{name}: begin")
            with begin(self) as tx:
                yield tx
                for name in names:
                    points.reach(f"{name}: unfinished", lambda: _cut_store(tx))
                if points.full:
                    _no_room(self)
                for name in names:
                    if points.comes(f"{name}: committed", "cut"):
                        points.reach(f"{name}: committed", lambda: _lose_the_answer(tx))
            for name in names:
                points.reach(f"{name}: committed", lambda: None)

        return transaction()

    look = database.Database.reading

    def reading(self: database.Database) -> AbstractContextManager[sa.Connection]:
        where = _openers()[0].split(".")

        @contextmanager
        def transaction() -> Iterator[sa.Connection]:
            with look(self) as tx:
                points.reach(f"read in {where[2]}", lambda: _cut_store(tx))
                yield tx

        # Beside the pipeline's, reads are of commands, which change nothing.
        return transaction() if where[1] == "pipeline" else look(self)

    database.Database.writing = writing  # type: ignore[method-assign,assignment]
    database.Database.reading = reading  # type: ignore[method-assign,assignment]


def _migration(points: Points) -> None:
    from monitor.store.engine import migrate

    hold_together = migrate._hold_together

    def hold_together_(connection: sa.Connection) -> None:
        hold_together(connection)
        points.reach("migration: unfinished", lambda: _cut_store(connection))
        if points.full:
            raise sqlite3.OperationalError("database or disk is full")

    migrate._hold_together = hold_together_
    _around(points, migrate, "_run", "migration: begin", "migration: committed")


def _cut_store(tx: sa.Connection) -> None:
    raw: Any = tx.connection.dbapi_connection
    _shut(raw.pgconn.socket)


def _lose_the_answer(tx: sa.Connection) -> NoReturn:
    """Commit, and have the connection cut before the server can say so."""
    from psycopg import OperationalError

    raw: Any = tx.connection.dbapi_connection
    raw.commit()
    _cut_store(tx)
    raise sa.exc.OperationalError(
        "COMMIT", {}, OperationalError("the server closed the connection")
    )


def _no_room(database: Any) -> NoReturn:
    """Say what SQLite and PostgreSQL (53100) say of a disk that is full."""
    if database.path:
        raise sa.exc.OperationalError(
            "COMMIT", {}, sqlite3.OperationalError("database or disk is full")
        )
    from psycopg.errors import DiskFull

    raise sa.exc.OperationalError("COMMIT", {}, DiskFull("could not extend file: No space left"))


# ── mail ────────────────────────────────────────────────────────────────────────────


def _smtp(points: Points) -> None:
    from monitor.channels.email.smtp import Session

    session: Any = Session
    connect = session._get_socket
    send = smtplib.SMTP.send
    getreply = smtplib.SMTP.getreply

    def _get_socket(self: Any, *result: Any) -> socket.socket:
        self.said = "greeting"
        points.reach("smtp: connect", _unreachable)
        return connect(self, *result)  # type: ignore[no-any-return]

    def send_(self: Any, result: Any) -> None:
        text = result if isinstance(result, str) else bytes(result[:9]).decode("latin-1")
        self.said = _verb(text)
        cut = _cutting(self.sock)
        points.reach(f"smtp {self.said}: begin", cut)
        if self.said == "text":
            half = len(result) // 2
            send(self, result[:half])
            points.reach("smtp text: half sent", cut)
            result = result[half:]
        send(self, result)
        points.reach(f"smtp {self.said}: sent", cut)

    def getreply_(self: Any) -> Any:
        reply = getreply(self)
        points.reach(f"smtp {self.said}: answered", _cutting(self.sock))
        return reply

    session._get_socket = _get_socket
    session.send = send_
    session.getreply = getreply_


def _sendmail(points: Points) -> None:
    from monitor.channels.email import sendmail

    module: Any = sendmail
    read_status = module.Sendmail._read_status

    def start(*result: Any, **named: Any) -> Any:
        points.reach("sendmail: begin", _unreachable)
        process = subprocess.Popen(*result, **named)
        points.reach("sendmail: started")
        return process

    def _read_status(self: Any, *result: Any) -> Any:
        points.reach("sendmail: ended")
        return read_status(self, *result)

    module.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": start})
    module.Sendmail._read_status = _read_status


def _verb(text: str) -> str:
    word = text.split()[0].upper() if text.split() else ""
    if word == ".":
        return "dot"
    commands = {"EHLO", "LHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "QUIT"}
    return word if word in commands else "text"


# ── Slack, by way of `monitor.channels.post` ─────────────────────────────────────────


def _slack(points: Points) -> None:
    from monitor.channels import post

    module: Any = post
    exchange = module._exchange
    guard = module.Guard
    pieces = module._Body.__iter__
    of_thread = threading.local()

    def said() -> str:
        return str(of_thread.said)

    class Dialling(guard):  # type: ignore[misc, valid-type]
        def connect_tcp(self, *arguments: Any, **named: Any) -> Any:
            points.reach(f"{said()}: connect", _unreachable)
            stream: Any = guard.connect_tcp(self, *arguments, **named)
            of_thread.cut = _cutting(stream._stream.get_extra_info("socket"))
            points.reach(f"{said()}: connected", of_thread.cut)
            return stream

    def pieces_(self: Any) -> Iterator[bytes]:
        yield from pieces(self)
        points.reach(f"{said()}: sent", of_thread.cut)

    @contextmanager
    def exchange_(method: str, url: str, body: Any, *how: Any) -> Iterator[Any]:
        of_thread.said = _asked(url, body.content)
        with exchange(method, url, body, *how) as response:
            points.reach(f"{said()}: answered", of_thread.cut)
            yield response

    module._exchange = exchange_
    module.Guard = Dialling
    module._Body.__iter__ = pieces_


def _asked(url: str, body: Any) -> str:
    _, is_api, method = url.partition("?")[0].rpartition("/api/")
    if "/services/" in url:
        return "slack webhook"
    if not is_api:
        return "post"
    if method != "chat.postMessage":
        return f"slack {method}"
    return "slack reply" if json.loads(body or b"{}").get("thread_ts") else "slack parent"


def _apprise(points: Points) -> None:
    from monitor.channels.apprise.service import Service

    _around(points, Service, "send", "apprise: begin", "apprise: ended")


# ── files ───────────────────────────────────────────────────────────────────────────

_FILES = {
    "monitor.channels.file": "page",
    "monitor.store.engine.database": "backup",
    "monitor.store.restore": "restore",
}


def _files(points: Points) -> None:
    import shutil

    fsync = os.fsync
    replace = Path.replace
    copyfile = shutil.copyfile

    def said() -> str:
        frame = sys._getframe(2)
        what = _FILES.get(frame.f_globals["__name__"], "")
        places = [f.f_locals.get("path") for f in (frame, frame.f_back) if f]
        index = any(isinstance(p, Path) and p.name == "index.html" for p in places)
        return "index" if what == "page" and index else what

    def fsync_(handle: int) -> None:
        what = said()
        if not what:
            return fsync(handle)
        folder = Path(f"/proc/self/fd/{handle}").is_dir()
        write(what, "renamed" if folder else "written")
        fsync(handle)
        if not folder:
            points.reach(f"{what}: fsynced")
        return None

    def write(what: str, step: str) -> None:
        if what:
            points.reach(f"{what}: {step}")
            points.room()

    def replace_(self: Path, target: Any) -> Path:
        write(said(), "rename")
        return replace(self, target)

    def copyfile_(source: Any, target: Any, **named: Any) -> Any:
        write(said(), "copy")
        return copyfile(source, target, **named)

    os.fsync = fsync_  # type: ignore[assignment]
    Path.replace = replace_  # type: ignore
    shutil.copyfile = copyfile_  # type: ignore


# ── fetching and reading ────────────────────────────────────────────────────────────


def _door(points: Points) -> None:
    from monitor.http.client import HttpClient

    client: Any = HttpClient
    read_answer = client._read_answer

    def _read_answer(self: Any, request: Any, response: Any, watch: Any) -> Any:
        def cut() -> None:
            stream = response.extensions["network_stream"]
            _shut(stream.get_extra_info("socket").fileno())

        points.reach("fetch: answered", cut)
        return read_answer(self, request, response, watch)

    client._read_answer = _read_answer
    _around(points, client, "_exchange", "fetch: asked", "fetch: read")


def _reading(points: Points) -> None:
    from monitor.sources import sandbox
    from monitor.store.engine import locks

    worker: Any = sandbox.Worker
    ask = worker.ask
    taken = locks._take

    def ask_(self: Any, *result: Any) -> Any:
        points.reach("worker: asked", self._process.kill)
        return ask(self, *result)

    def taken_(database: Any, name: str, *result: Any) -> Any:
        kind = "owner" if not locks._is_reused(name) else name.partition("-")[0]
        points.reach(f"{kind} lock: begin")
        held = taken(database, name, *result)
        points.reach(f"{kind} lock: held")
        return held

    worker.ask = ask_
    locks._take = taken_
    _around(points, sandbox, "read", "document: hashed", "document: parsed")
    _around(points, worker, "__init__", "worker: start", "worker: started")


def _learning(points: Points) -> None:
    from monitor.pipeline import like_topics

    _around(points, like_topics, "learn", "words: begin", "words: learned")


def _no_waits() -> None:
    """Do not wait where the program would, and nothing but time is in question.

    A disk that stays full is full for the four minutes that an answer is held on to; a service
    that ticks every 20 seconds would take as long to notice anything.
    """
    from monitor.channels.slack.channel import Slack
    from monitor.pipeline import deliver
    from monitor.service.scheduler import Service

    Slack.min_interval = 0.0
    deliver.RECORD_RETRY_SECONDS = (0, 0)  # type: ignore[assignment]
    begin: Any = Service.__init__
    begin.__defaults__ = (timedelta(seconds=0.2), *begin.__defaults__[1:])


# ── cutting ─────────────────────────────────────────────────────────────────────────


def _unreachable() -> NoReturn:
    raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))


def _cutting(sock: socket.socket | None) -> Cut:
    return lambda: _shut(sock.fileno()) if sock is not None else None


def _shut(handle: int) -> None:
    """End both directions of a connection, under whoever holds it."""
    copy = socket.socket(fileno=os.dup(handle))
    with copy, suppress(OSError):
        copy.shutdown(socket.SHUT_RDWR)
