"""Compares what the working tree answers with what an earlier commit does.

    python -m tests.same_answers COMMIT [--only PART,PART] [--data FOLDER] [--keep FOLDER] [--all]

Exits with 1 where an answer differs that `intended.toml` does not list.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP

from tests.same_answers.answers import Answers, Job
from tests.same_answers.compare import Difference, differences, read_answers, read_intended
from tests.same_answers.inputs import STORELESS
from tests.servers.slack import SlackServer

ROOT = Path(__file__).parent.parent.parent
DATA = ROOT / "../shared/data"
PARTS = ("identity", "match", "store", "digests", "json", "pages", "faults", "upgrade")
MAX_LINES, MAX_SHOWN = 12, 15


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Inbox:
    """Keeps each mail as a file; refuses gone@ for good, and later@ for now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._count = 0

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if address.startswith("gone@"):
            return "550 5.1.1 there is nobody of that name"
        if address.startswith("later@"):
            return "451 4.2.0 the mailbox is busy"
        envelope.rcpt_tos.append(address)
        return "250 ok"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self._count += 1
        name = f"{self._count:04} {envelope.rcpt_tos[0]}.eml"
        (self.folder / name).write_bytes(envelope.original_content)
        return "250 2.0.0 kept"


@contextlib.contextmanager
def mail_server(folder: Path) -> Iterator[int]:
    inbox, loop = Inbox(folder), asyncio.new_event_loop()
    serving = loop.create_server(lambda: SMTP(inbox, loop=loop), "127.0.0.1", 0)
    server = loop.run_until_complete(serving)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        server.close()
        loop.close()


def start(job: Job, tree: Path, tools: Path) -> subprocess.Popen[bytes]:
    """Start collecting the answers of the package in `tree`."""
    file = Path(job.folder) / "job.json"
    file.write_text(json.dumps(dataclasses.asdict(job)), encoding="utf-8")
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "VIRTUAL_ENV")
    variables = {name: os.environ[name] for name in kept if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.same_answers.answers", str(file)],
        cwd=job.folder,
        env=variables | {"PYTHONPATH": f"{tools}{os.pathsep}{tree}", "PYTHONHASHSEED": "0"},
    )


def add_received(job: Job, slack: SlackServer) -> None:
    answers = Answers(dataclasses.replace(job), "received")
    for mail in sorted((Path(job.folder) / "mails").iterdir()):
        recipient = mail.stem.partition(" ")[2]
        answers.add(f"mails to {recipient}", mail.read_text(encoding="utf-8", errors="replace"))
    for post in slack.posts:
        answers.add("slack", json.dumps(post, indent=1, sort_keys=True, ensure_ascii=False))
    answers.close()


@contextlib.contextmanager
def two_trees(base: str, folder: Path) -> Iterator[dict[str, Path]]:
    """Yield the tree of `base`, in a worktree that is removed afterwards, and the working tree."""
    tree = folder / "tree"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(tree), base], check=True)
    try:
        yield {"base": tree, "work": ROOT}
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def copy_tools(folder: Path) -> Path:
    """Put this package where it is found before the tests of either tree."""
    package = folder / "tools" / "tests"
    shutil.copytree(Path(__file__).parent, package / "same_answers")
    (package / "__init__.py").touch()
    return package.parent


def compare_commits(base: str, parts: list[str], data: Path | None, folder: Path) -> None:
    """Write the answers of both below `folder`: base/answers, work/answers, and the upgrade's."""
    lived = [part for part in parts if part != "upgrade"]
    if "upgrade" in parts:
        lived = list(dict.fromkeys([*lived, "json", "again"]))
    with contextlib.ExitStack() as stack:
        trees = stack.enter_context(two_trees(base, folder))
        tools, jobs, slacks = copy_tools(folder), dict[str, Job](), dict[str, SlackServer]()
        for name in trees:
            place = folder / name
            place.mkdir()
            port = stack.enter_context(mail_server(place / "mails"))
            slacks[name] = stack.enter_context(SlackServer())
            jobs[name] = Job(
                folder=str(place),
                parts=lived,
                seeds=str(trees["base"] / "seeds"),
                tests=str(trees["base"] / "tests" / "config"),
                data=str(data) if data else None,
                smtp_port=port,
                slack_url=slacks[name].base_url,
            )
        wait([start(jobs[name], trees[name], tools) for name in trees])
        if "digests" in parts:
            for name in trees:
                add_received(jobs[name], slacks[name])
        if "upgrade" in parts:
            place = folder / "newer"
            (place / "mails").mkdir(parents=True)
            older = str(folder / "base" / "lived")
            job = dataclasses.replace(
                jobs["base"], folder=str(place), parts=["json", "again"], older=older
            )
            wait([start(job, trees["work"], tools)])


def wait(processes: list[subprocess.Popen[bytes]]) -> None:
    try:
        failed = [process.wait() for process in processes]
    finally:
        for process in processes:
            process.terminate()
    if any(failed):
        sys.exit("collecting the answers failed")


def pairs_of_answers(parts: list[str], folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Yield each part's name with the files of its answers, before and after."""
    base, work, newer = (folder / name / "answers" for name in ("base", "work", "newer"))
    for part in [part for part in parts if part != "upgrade"]:
        yield part, base / f"{part}.jsonl", work / f"{part}.jsonl"
        if part == "digests":
            yield part, base / "received.jsonl", work / "received.jsonl"
    if "upgrade" in parts:
        for part in ("json", "again"):
            yield "upgrade", base / f"{part}.jsonl", newer / f"{part}.jsonl"


def report(part: str, found: list[Difference], most: int) -> None:
    for difference in found[:most]:
        say(f"\n{difference.key[:300]}")
        say("\n".join(f"    {line[:400]}" for line in difference.lines[:MAX_LINES]))
        if len(difference.lines) > MAX_LINES:
            say(f"    ... {len(difference.lines) - MAX_LINES} more lines")
    if len(found) > most:
        say(f"\n... {len(found) - most} more answers of {part} differ; --all shows them")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base")
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--keep", type=Path, help="a new folder for the answers, which then stays")
    parser.add_argument("--all", action="store_true", help="show each difference")
    options = parser.parse_args()
    parts = [part for part in options.only.split(",") if part]
    if wrong := set(parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(wrong))}; there are: {', '.join(PARTS)}")
    data = options.data.resolve() if options.data.is_dir() else None
    say(f"data of {data}: compared, too" if data else "NOT COMPARED: there is no ../shared/data")
    began, intended, count = time.monotonic(), read_intended(), 0
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=True)
        folder = folder.resolve()
        compare_commits(options.base, parts, data, folder)
        for part, before, after in pairs_of_answers(parts, folder):
            old = read_answers(before)
            if part == "upgrade":
                old = {key: text for key, text in old.items() if not STORELESS.search(key)}
            found = list(differences(part, old, read_answers(after), intended))
            report(part, found, len(found) if options.all else MAX_SHOWN)
            say(f"{part}: {len(old):,} answers, {len(found)} differ")
            count += len(found)
    for entry in intended:
        if not entry.seen:
            say(f"no longer occurs: {entry.key.pattern} {entry.line.pattern} ({entry.reason})")
    say(f"{count} differences in {time.monotonic() - began:.0f} s")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
