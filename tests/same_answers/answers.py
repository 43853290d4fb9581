"""Answers of one commit, written down as JSON lines of key and text, a file for each part.

    python -m tests.same_answers.answers JOB

Runs with the package of whichever commit PYTHONPATH names, and uses of it only what the
documentation calls stable: the command line, the pages, and the names that scripts import. `JOB` is
a JSON file, see `Job`. A command runs in a fork of this process, which has its modules loaded.
"""

from __future__ import annotations

import atexit
import contextlib
import email
import email.policy
import gc
import http.client
import importlib
import json
import os
import pkgutil
import re
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

import yaml

import monitor
from monitor.cli import main
from monitor.diff import same_work
from monitor.match import TopicIndex
from monitor.model import Paper
from monitor.rank import Judged, learn
from tests.same_answers import inputs
from tests.same_answers.inputs import DAYS, NOW, Record


@dataclass(frozen=True)
class Job:
    """`folder` is where to work and to write answers; `older`, an installation to read instead."""

    folder: str
    parts: list[str]
    seeds: str
    tests: str
    data: str | None
    smtp_port: int
    slack_url: str
    older: str | None = None


class Answers:
    """The answers of one part; what differs in each run is masked."""

    def __init__(self, job: Job, part: str) -> None:
        folder = Path(job.folder) / "answers"
        folder.mkdir(exist_ok=True)
        self._lines = (folder / f"{part}.jsonl").open("w", encoding="utf-8")
        ports = f":{job.smtp_port}|{re.escape(job.slack_url)}"
        self._masks = [
            (re.compile(rf"{re.escape(str(Path(job.folder).parent))}/\w+"), "FOLDER"),
            (
                re.compile(rf"{re.escape(quote(str(Path(job.folder).parent), safe=''))}%2F\w+"),
                "FOLDER",
            ),
            (re.compile(rf"{ports}|127\.0\.0\.1:\d{{4,5}}|(?<=port: )\d{{5}}"), "PORT"),
            (re.compile(rf'(?<="port": ){job.smtp_port}'), "0"),
            *((re.compile(pattern), mask) for pattern, mask in MASKS.items()),
        ]

    def add(self, key: str, text: str) -> None:
        for pattern, mask in self._masks:
            key, text = pattern.sub(mask, key), pattern.sub(mask, text)
        self._lines.write(json.dumps([key, text]) + "\n")

    def close(self) -> None:
        self._lines.close()


# Chance and real time, which no `--now` moves.
MASKS = {
    r"<[\w.=+-]+@[\w.-]+>": "<MESSAGE-ID>",
    r"=_[0-9a-f]{32}": "BOUNDARY",
    rf'(?<="at":"){DAYS[-1]}T[^"]+': "WHEN ASKED",
    r"paper-monitor-[a-z0-9_]{8}(?=/|\b)": "TEMPORARY",
    r'(?<="at": ")\d{4}-\d\d-\d\dT[\d:]+(?=", "month")': "WHEN WRITTEN",
    r"\(commit [0-9a-f]{12}\)": "(COMMIT)",
    r"(?m)^(process_\w+|paper_monitor_delivery_wait_seconds) .*": r"\1",
}

# Columns and headers: times, processes, a hash of a file with the folder, and a mere length.
UNSTABLE = {
    *("activation.at", "activation.config_hash", "activation.process", "heartbeat.at"),
    *("date", "content-length"),
}


def to_paper(record: Record) -> Paper:
    known = {
        "title", "abstract", "authors", "venue", "year", "keys", "categories", "url", "type",
        "version", "withdrawn", "raw_id",
    }  # fmt: skip
    values = {name: value for name, value in record.items() if name in known and value is not None}
    for name in ("authors", "categories"):
        values[name] = tuple(values.get(name, ()))
    year = str(values.get("year") or "")[:4]
    return Paper(**(values | {"year": int(year) if year else None}))


# ── the deciding parts ──────────────────────────────────────────────────────────────


def compare_records(job: Job, answers: Answers) -> None:
    papers = [paper for seed in inputs.read_seeds(Path(job.seeds)) for paper in seed]
    _judge(answers, "drawn", inputs.draw_pairs(Random(1), papers, 20_000))
    if job.data:
        data = Path(job.data)
        _judge(answers, "labelled", inputs.labelled_pairs(data))
        real = inputs.read_lines(data / "papers-10k.jsonl.gz", 10_000)
        _judge(answers, "real", inputs.draw_pairs(Random(2), real, 60_000))


def _judge(answers: Answers, name: str, pairs: Iterable[tuple[Record, Record]]) -> None:
    for number, (a, b) in enumerate(pairs):
        verdict = same_work(to_paper(a), to_paper(b))
        shown = f"{verdict.score:.9f} {verdict.same}\n" + "\n".join(map(str, verdict.why))
        answers.add(f"{name} {number}: {a['title']} | {b['title']}", shown)


def match_topics(job: Job, answers: Answers) -> None:
    random = Random(3)
    papers = [paper for seed in inputs.read_seeds(Path(job.seeds)) for paper in seed]
    records = [vary(random, paper) for paper in papers for vary in (inputs.describe, _varied)]
    topics = inputs.draw_topics(random, papers, 700)
    topics |= {text: text for text in inputs.WRONG_TOPICS}
    _match(answers, "drawn", topics, records, 20)
    rated = [Judged(to_paper(r), random.choice(("wanted", "unwanted"))) for r in records[:60]]
    ranking = learn(rated, ["agent", "language", "policy"])
    for record in records[60:200]:
        paper = to_paper(record)
        shown = f"{ranking.score(paper, lexical=1.5):.9f} {ranking.likely(paper)}"
        answers.add(f"rank: {paper.title}", shown)
    if job.data:
        data = Path(job.data)
        real = inputs.read_lines(data / "papers-10k.jsonl.gz", 2_000)
        _match(answers, "real", inputs.real_topics(data, 10_000), real, 500)


def _varied(random: Random, paper: Record) -> Record:
    return inputs.vary(random, inputs.describe(random, paper))


def _match(
    answers: Answers, name: str, topics: dict[str, str], records: list[Record], every: int
) -> None:
    """Write each pair with its score, and why for one of so many."""
    index = TopicIndex(topics)
    for topic, error in index.errors.items():
        answers.add(f"{name} {topic}", f"{error.position}: {error.message}\n{error.hint}")
    pairs: dict[str, list[str]] = {}
    matches = index.match([to_paper(record) for record in records])
    for number, match in enumerate(matches):
        pairs.setdefault(str(match.topic), []).append(f"{match.position}: {match.score:.9f}")
        if number % every == 0:
            reasons = "\n".join(f"{r.field}: {r.words} {r.spans} {r.terms}" for r in match.why)
            answers.add(f"{name} {topics[str(match.topic)]}: why {match.position}", reasons)
    for topic in topics.keys() - index.errors.keys():
        answers.add(f"{name} {topics[topic]}", "\n".join(sorted(pairs.get(topic, []))))


# ── commands ────────────────────────────────────────────────────────────────────────


def load_modules() -> None:
    """Import all modules of the package, so that no fork takes time for it."""
    for module in pkgutil.walk_packages(monitor.__path__, "monitor."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def run(folder: Path, line: str, *, variables: Iterable[tuple[str, str]] = ()) -> str:
    """Run a command in a fork, in `folder`, and return all it printed and its status."""
    printed = [Path(folder, f".{name}") for name in ("out", "err")]
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _become(folder, line, printed, variables)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    out, err = (path.read_text(encoding="utf-8", errors="replace") for path in printed)
    if "--json" in line:
        with contextlib.suppress(ValueError):
            out = json.dumps(json.loads(out), indent=1, sort_keys=True, ensure_ascii=False)
    return f"status {status}\n{out}" + (f"\n── stderr\n{err}" if err else "")


def _become(
    folder: Path, line: str, printed: list[Path], variables: Iterable[tuple[str, str]]
) -> None:
    status: Any = 70
    try:
        os.chdir(folder)
        os.environ.update(variables)
        for number, path in zip((1, 2), printed, strict=True):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        sys.argv = ["paper-monitor", *shlex.split(line)]
        main()
        status = 0
    except SystemExit as end:
        status = end.code or 0
    except BaseException as error:  # as Python would print it, without the lines of its files
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)


def install(job: Job) -> tuple[Path, list[tuple[str, str]]]:
    """Live through the days in a new folder; return it, and what each day's run printed."""
    folder = Path(job.folder) / "lived"
    folder.mkdir()
    text = yaml.safe_dump(
        inputs.settings(Path(job.seeds), job.smtp_port, job.slack_url),
        sort_keys=False,
        allow_unicode=True,
    )
    (folder / "monitor.yaml").write_text(text, encoding="utf-8")
    _write(folder / "library.ris", inputs.LIBRARY, 0)
    _write(folder / "broken.xml", "<rss><channel><item><title>A", 0)
    printed = []
    seeds = sorted(Path(job.seeds).glob("*.txt"))
    for number, (day, seed, records) in enumerate(
        zip(DAYS, seeds, inputs.dumps(Path(job.seeds)), strict=True), 1
    ):
        _write(folder / "page" / f"{number}.txt", seed.read_text(encoding="utf-8"), number)
        _write(folder / "records" / f"{number}.jsonl", records, number)
        for line in ("ingest --json", "digest --json", "status --json"):
            command = f"{line} --now {day}T09:30:00+01:00"
            printed.append((f"day {number}: {line}", run(folder, command)))
    return folder, printed


def _write(path: Path, text: str, day: int) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (1_773_300_000 + 86_400 * day,) * 2)


def copied(job: Job, folder: Path, name: str) -> Path:
    return Path(shutil.copytree(folder, Path(job.folder) / name))


def try_commands(job: Job, answers: Answers, folder: Path) -> None:
    for line in inputs.COMMANDS:
        if job.older and inputs.STORELESS.search(line):
            continue
        timed = line if inputs.TIMELESS.match(line) else f"{line} {NOW}"
        for command in (f"{timed} --json", timed) if "demo" not in line else (f"{timed} --json",):
            printed = run(folder, command)
            answers.add(command.replace(NOW, "--now").strip(), printed)
            if line.startswith(("preview", "templates")):
                _add_pages(answers, line, printed, folder)
    for line in () if job.older else inputs.each_help():
        answers.add(f"{line} --help", run(folder, f"{line} --help"))


def _add_pages(answers: Answers, line: str, printed: str, folder: Path) -> None:
    """Write what a command wrote to the files that its JSON names."""
    for path in re.findall(r'"path": "([^"]+)"', printed):
        file = folder / path
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            if "templates" in line:  # which knows no `--now`
                text = re.sub(r"(?<=last on )\w+ \d+ \w+ [\d:]+", "TODAY", text)
            answers.add(f"{line}: {file.name}", text)


def dump_tables(job: Job, answers: Answers, folder: Path) -> None:
    """Write each column of each table, with the key of each row."""
    with contextlib.closing(
        sqlite3.connect(f"file:{folder}/monitor.db?mode=ro", uri=True)
    ) as store:
        tables = store.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        virtual = [name for name, sql in tables if "VIRTUAL" in sql]
        for table, sql in sorted(tables):
            if table.startswith(("sqlite_", *virtual)):
                continue
            answers.add(f"{table}: schema", sql)
            columns = store.execute(f"PRAGMA table_info({table})").fetchall()
            keys = ", ".join(f"{c[1]}" for c in columns if c[5]) or "rowid"
            for column in [c[1] for c in columns if not c[5]]:
                if f"{table}.{column}" in UNSTABLE:
                    continue
                rows = store.execute(f"SELECT {keys}, {column} FROM {table} ORDER BY {keys}")
                answers.add(f"{table}.{column}", "\n".join(" ".join(map(_cell, r)) for r in rows))


def _cell(value: Any) -> str:
    return "BYTES" if isinstance(value, bytes) else str(value)


def find_faults(job: Job, answers: Answers, folder: Path) -> None:
    right = inputs.settings(Path(job.seeds), 25, "http://127.0.0.1:9/api/")
    texts = [*inputs.faulty_texts(Path(job.tests)), *inputs.faulty_settings(right)]
    place = Path(job.folder) / "faults"
    place.mkdir()
    run(place, "check")
    for text in dict.fromkeys(texts):
        (place / "monitor.yaml").write_text(text, encoding="utf-8")
        answers.add(text, run(place, "check --json"))
    for line in ("check", "status", "run", "papers search x", "doctor --alive"):
        (place / "monitor.yaml").write_text("stroe: x\ntopics: {a: {query: (}}\n", encoding="utf-8")
        answers.add(f"{line}, with faults", run(place, line))


def read_digests(job: Job, answers: Answers, folder: Path) -> None:
    """Write what was delivered as files; mails and messages are added by who received them."""
    for file in sorted((folder / "pages").rglob("*")):
        if file.is_file():
            answers.add(f"{file.relative_to(folder)}", file.read_text(encoding="utf-8"))


# ── pages ───────────────────────────────────────────────────────────────────────────


class Pages:
    """The pages of an installation, served by a process of their own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        listen = ("--listen", f"127.0.0.1:{self.port}")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "monitor", "web", *listen, *NOW.split()],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.1)
        raise SystemExit("the pages do not answer")

    def ask(self, method: str, path: str, headers: dict[str, str], body: str = "") -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            named = "\n".join(
                f"{k}: {v}" for k, v in sorted(answer.getheaders()) if k not in UNSTABLE
            )
            return f"{answer.status}\n{named}\n\n{answer.read().decode(errors='replace')}"

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(60)


def walk_pages(job: Job, answers: Answers, folder: Path) -> None:
    """Follow links as the operator, then ask for each page in each role, then press each button."""
    pages = Pages(folder)
    try:
        seen, forms = _crawl(pages, [*inputs.PAGES, *_links_of_mails(Path(job.folder) / "mails")])
        for path in seen:
            roles = inputs.ROLES if path in inputs.PAGES else inputs.PERSONS
            for role, headers in roles.items():
                answers.add(f"GET {path} as {role}", pages.ask("GET", path, headers))
        for role, headers in inputs.PERSONS.items():
            headers = headers | {
                "Content-Type": "application/x-www-form-urlencoded",
                "Sec-Fetch-Site": "same-origin",
            }
            for path, body in forms:
                answers.add(f"POST {path} {body} as {role}", pages.ask("POST", path, headers, body))
        for path in seen[:: max(1, len(seen) // 40)]:
            shown = pages.ask("GET", path, inputs.ROLES["operator"])
            answers.add(f"GET {path} after all buttons", shown)
    finally:
        pages.close()


def _links_of_mails(mails: Path) -> list[str]:
    """Return the first link of each kind to the pages, of each recipient's last mail."""
    links: dict[tuple[str, str], str] = {}
    for file in sorted(mails.glob("*.eml")):
        mail = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
        text = mail.get_body(("plain",)).get_content()
        for link in reversed(re.findall(rf"{inputs.PUBLIC}(/[\w./~-]+)", text)):
            links[mail["To"], link[:3] + link.rpartition("/")[2][:4]] = link
    return list(links.values())


def _crawl(pages: Pages, start: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the paths that links lead to, and the buttons there, at most some of each kind."""
    seen, forms, kinds = dict.fromkeys(start), dict[str, tuple[str, str]](), Counter[str]()
    waiting = list(seen)
    for path in waiting:
        shown = pages.ask("GET", path, inputs.ROLES["operator"])
        for link in re.findall(r'href="(/[^"]*)"', shown):
            target = link.replace("&amp;", "&").partition("#")[0]
            kind = re.sub(r"=[^&]*|\d+|[\w.-]{24,}", "", target)
            if target not in seen and kinds[kind] < inputs.MAX_OF_KIND:
                kinds[kind] += 1
                seen[target] = None
                waiting.append(target)
        for form in re.findall(r"<form[^>]*method=.?post.*?</form>", shown, re.DOTALL | re.I):
            action, body = _filled(path, form)
            kind = re.sub(r"next=[^&]*|\d+|[\w.=-]{24,}", "", f"{action} {body}")
            forms.setdefault(kind, (action, body))
    return list(seen), list(forms.values())


def _filled(path: str, form: str) -> tuple[str, str]:
    action = re.search(r'action="([^"]*)"', form)
    names = re.findall(
        r'<(?:input|button|select)[^>]*name="([^"]+)"(?:[^>]*value="([^"]*)")?', form
    )
    fields = [(name, value or "1") for name, value in names]
    return urlsplit(urljoin(path, action[1] if action else "")).path, urlencode(fields)


# ── parts ───────────────────────────────────────────────────────────────────────────


def read_again(job: Job, answers: Answers, folder: Path) -> None:
    """Read all documents once more, as if they were other ones, and send what is then due."""
    for file in (*folder.glob("page/*"), *folder.glob("records/*"), folder / "library.ris"):
        status = file.stat()
        file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        os.utime(file, (status.st_atime, status.st_mtime))
    for line in ("ingest --json", "run --json", "status --json"):
        answers.add(f"all read again: {line}", run(folder, f"{line} {NOW}"))
    dump_tables(job, answers, folder)


Collect = Callable[[Job, Answers, Path], None]
LIVED: dict[str, Collect] = {
    "store": dump_tables,
    "digests": read_digests,
    "json": try_commands,
    "pages": walk_pages,
    "again": read_again,
}


def collect(job: Job) -> None:
    load_modules()
    folder, days = Path(job.folder), list[tuple[str, str]]()
    if job.older or any(part in job.parts for part in LIVED):
        folder, days = (Path(job.older), []) if job.older else install(job)
    for part in job.parts:
        began, answers = time.monotonic(), Answers(job, part)
        match part:
            case "identity":
                compare_records(job, answers)
            case "match":
                match_topics(job, answers)
            case "faults":
                find_faults(job, answers, folder)
            case _:
                for key, printed in days if part == "digests" else ():
                    answers.add(key, printed)
                LIVED[part](job, answers, copied(job, folder, part))
        answers.close()
        sys.stderr.write(f"{job.folder}: {part} {time.monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    asked = Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    temporary = Path(asked.folder) / "tmp"
    temporary.mkdir()
    os.environ.update(inputs.ENVIRONMENT | {"TMPDIR": str(temporary)})
    time.tzset()
    collect(asked)
