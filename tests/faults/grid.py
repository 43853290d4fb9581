"""Every boundary and every harm: which cells there are, and which of them have no meaning.

A cell is played unless another one does the same harm in the same state:

- A process that is killed where a transaction begins, and one killed with all of it written and
  nothing committed, leave the same rows behind and no memory. The second one is played.
- An error or a cut connection at a boundary beside the store (mail, Slack, pages, documents) finds
  the same rows in either database, and does nothing to a connection or lock of it. It is played on
  SQLite. A process killed there frees its locks and claims in another way on PostgreSQL: it is
  played on both.
- Deliveries are settled and claimed before a channel does anything. That is played by mail, one at
  a time and several at once, and where something is uncertain already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.faults.points import HARMS, Order
from tests.faults.scenes import SCENES, Stage, Verdict, play

STORES = ("sqlite", "postgresql")
# What a trace of each scene has named, in the order of its first occurrence. A test compares.
BOUNDARIES = Path(__file__).with_name("boundaries.txt")

# A second mail goes over the connection that the first one opened, and so on.
_TWICE = ("claim", "chunk", "run ended", "hand-off", "outcome", "smtp MAIL", "smtp RCPT")
_TWICE += ("smtp DATA", "smtp text", "smtp dot")
# How often a point is reached, where each time is played.
_TIMES: Mapping[str, Mapping[str, int]] = {
    "mail": dict.fromkeys(_TWICE, 2),
    "like a text": {"read in like_topics": 4},
    "learned on a page": {"read in like_topics": 4},
    "references": {"chunk": 4, "entries begun": 2, "entries left": 5, "filled in": 2},
}

# What is not a transaction, lock or file of the store begins so.
_BESIDE_THE_STORE = ("smtp", "sendmail", "slack", "post", "apprise", "fetch")
_BESIDE_THE_STORE += ("page", "index", "worker", "document")

# Where settling and claiming find what they find in the scenes `mail` and `mail, at once`.
_CLAIMED_ALIKE = ("mail, at once, held", "mail by sendmail", "slack", "webhook", "pages")
_CLAIMED_ALIKE += ("signed webhook", "webhook of a chat", "ntfy", "apprise")

_WRITTEN = ("unfinished", "written", "rename", "copy")
_FILES = ("page", "index", "backup", "sendmail")
_HERE = ("document", "lock", "words")


@dataclass(frozen=True)
class Cell:
    """One point of a scene, reached for the `hit`-th time, and what is done there."""

    scene: str
    point: str
    harm: str
    store: str
    hit: int = 1

    @property
    def order(self) -> Order:
        return Order(self.point, self.harm, self.hit)

    def play(self, stage: Stage) -> Verdict:
        return play(stage, SCENES[self.scene], self.order)

    def __str__(self) -> str:
        again = f", time {self.hit}" if self.hit > 1 else ""
        return f"{self.store}, {self.scene}: {self.harm} at “{self.point}”{again}"


@cache
def boundaries() -> dict[str, list[str]]:
    """Return the points of each scene: all that its trace names and that are its own."""
    listed: dict[str, list[str]] = {}
    for line in BOUNDARIES.read_text("utf-8").splitlines():
        scene, _, point = line.partition(" | ")
        listed.setdefault(scene, []).append(point)
    return listed


def is_meaningless(cell: Cell) -> bool:
    """Say whether a harm cannot be done at a point."""
    thing, _, step = cell.point.rpartition(": ")
    if cell.store == "postgresql" and (cell.scene == "backup" or thing == "service lock"):
        return True  # it has its own tools for backups, and is shared by any number of services
    if cell.harm == "full":
        return step not in _WRITTEN
    if cell.harm != "cut" or cell.point.startswith(("smtp", "slack", "post", "worker: asked")):
        return False
    if thing == "fetch":
        return step == "read"  # the connection is over
    if thing in (*_FILES, "apprise") or thing.startswith("worker") or thing.endswith(_HERE):
        return True  # no connection is used here (that of a lock: tests/store/test_locks.py)
    # A file has no connection; on a server none is taken yet, or it is given back.
    is_outside = step == "begin" or cell.point.startswith("migration: committed")
    return cell.store == "sqlite" or is_outside


def repeats_another(cell: Cell) -> bool:
    """Say whether another cell does the same harm in the same state."""
    thing, _, step = cell.point.rpartition(": ")
    in_transaction = f"{thing}: unfinished" in boundaries()[cell.scene]
    if cell.harm == "kill" and step == "begin" and in_transaction:
        return True
    beside_the_store = cell.point.startswith(_BESIDE_THE_STORE)
    if cell.harm != "kill" and cell.store == "postgresql" and beside_the_store:
        return True
    return cell.scene in _CLAIMED_ALIKE and thing in ("settling", "claim")


def left_out(cell: Cell) -> bool:
    """Say whether a cell is not played."""
    return is_meaningless(cell) or repeats_another(cell)


def is_tested(cell: Cell) -> bool:
    """Whether `make test` plays a cell."""
    return (cell.store, cell.harm) == ("sqlite", "kill")


def cells(stores: Iterable[str] = STORES, harms: Iterable[str] = HARMS) -> Iterator[Cell]:
    """Yield every cell, those without a meaning too."""
    listed = boundaries()
    for store in stores:
        for scene, points in listed.items():
            for point in points:
                by_name = _TIMES.get(scene, {}).items()
                times = next((n for name, n in by_name if point.startswith(name)), 1)
                for hit in range(1, times + 1):
                    for harm in harms:
                        yield Cell(scene, point, harm, store, hit)


def traced(stage: Stage, scene: str) -> list[str]:
    """Run a scene without any harm, and return its own points as they were reached."""
    result = SCENES[scene]
    folder = stage.fresh(result)
    trace = folder / "trace.txt"
    result.act(folder, Order(trace=trace))
    names = dict.fromkeys(trace.read_text("utf-8").splitlines())
    unnamed = [name for name in names if name.startswith("UNNAMED")]
    assert not unnamed, f"transactions without a name (points.TRANSACTIONS): {unnamed}"
    stage.done(folder)
    return [name for name in names if name.startswith(result.points)]
