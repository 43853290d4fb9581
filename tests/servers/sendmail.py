"""A program with the interface of sendmail that stores what it gets, or does as it is ordered."""

from __future__ import annotations

import json
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.servers.smtp import Received

_PROGRAM = """#!{python}
import json, os, signal, sys, time, uuid
from pathlib import Path

folder = Path({folder!r})
order = json.loads((folder / "order.json").read_text())
content = sys.stdin.buffer.read()
(folder / "environment.json").write_text(json.dumps(dict(os.environ)))
if order["status"] == 0:
    spool = folder / f"{{time.time_ns()}}-{{uuid.uuid4().hex}}"
    spool.with_suffix(".new").write_text(json.dumps([sys.argv[1:], content.decode()]))
    spool.with_suffix(".new").rename(spool.with_suffix(".mail"))
print(order["says"], file=sys.stderr)
sys.stderr.flush()
if order["signal"]:
    os.kill(os.getpid(), order["signal"])
if order["hangs"]:
    signal.pause()
sys.exit(order["status"])
"""


@dataclass
class SendmailProgram:
    """The program `path` in `folder`, and the mail it took."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "sendmail"
        text = _PROGRAM.format(python=sys.executable, folder=str(self.folder))
        self.path.write_text(text.replace("\n", " -I\n", 1), "utf-8")
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)
        self.does()

    def does(
        self, status: int = 0, *, signal: int = 0, hangs: bool = False, says: str = ""
    ) -> None:
        order = {"status": status, "signal": signal, "hangs": hangs, "says": says}
        (self.folder / "order.json").write_text(json.dumps(order), "utf-8")

    @property
    def environment(self) -> dict[str, str]:
        return dict(json.loads((self.folder / "environment.json").read_text("utf-8")))

    @property
    def arguments(self) -> list[list[str]]:
        return [json.loads(mail.read_text("utf-8"))[0] for mail in self._mails()]

    @property
    def received(self) -> list[Received]:
        found = [json.loads(mail.read_text("utf-8")) for mail in self._mails()]
        return [
            Received(arguments[arguments.index("-f") + 1], arguments[-1], content.encode())
            for arguments, content in found
        ]

    def clear(self) -> None:
        for mail in self._mails():
            mail.unlink()

    def _mails(self) -> list[Path]:
        return sorted(self.folder.glob("*.mail"))
