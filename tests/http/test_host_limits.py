"""One request at a time for each host, and how far apart."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from monitor.errors import FetchError
from monitor.http.host_limits import Gates
from tests.http.doors import Time


@pytest.mark.parametrize("second", ["export.arxiv.org", "rss.arxiv.org", "arxiv.org", "ARXIV.org."])
def test_requests_to_arxiv_are_three_seconds_apart_under_all_its_names(
    tmp_path: Path, second: str
) -> None:
    time = Time()
    with Gates(tmp_path, time, time.sleep).turn("export.arxiv.org"):
        (file,) = tmp_path.glob("*.gate")
        assert float(file.read_text()) == time.now, "what a crash cuts off counts, too"
        time.now += 1.5  # the answer takes its time
    ended = time.now
    with Gates(tmp_path, time, time.sleep).turn(second):  # another process
        assert time.now - ended >= 3.0


@pytest.mark.parametrize(
    ("host", "apart", "slept"),
    [
        ("feeds.example", (0, 0, 0), []),
        ("notarxiv.org", (0, 0), []),
        ("api.example", (0.5, 0.5, 0.1), [0.5, 0.1]),
        ("arxiv.org", (0.5, 0.5), [3.0]),
    ],
)
def test_a_service_may_want_its_requests_further_apart(
    tmp_path: Path, host: str, apart: tuple[float, ...], slept: list[float]
) -> None:
    time = Time()
    for seconds in apart:
        with Gates(tmp_path, time, time.sleep).turn(host, seconds):
            pass
    assert time.slept == slept


def test_a_clock_set_back_costs_one_distance_and_no_more(tmp_path: Path) -> None:
    time = Time()
    with Gates(tmp_path, time, time.sleep).turn("arxiv.org"):
        time.now -= 86400
    time.now -= 86400
    with Gates(tmp_path, time, time.sleep).turn("arxiv.org"):
        assert time.slept == [3.0]


def test_a_gate_that_never_opens_is_a_failure(tmp_path: Path) -> None:
    time = Time()
    with (
        Gates(tmp_path).turn("feeds.example"),
        pytest.raises(FetchError, match="did not finish"),
        Gates(tmp_path, time, time.sleep).turn("feeds.example"),
    ):
        pass


def test_a_gate_folder_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(FetchError, match="cannot keep the gate"),
        Gates(tmp_path / "file").turn("feeds.example"),
    ):
        pass


OTHER = 65_534


def plant(folder: Path, elsewhere: Path, how: str) -> None:
    """Leave a folder of gates as another account of the machine can make one before we do."""
    gate = folder / "feeds.example.gate"
    if how == "folder is a link":
        elsewhere.with_name(gate.name).write_text("1.0")
        folder.symlink_to(elsewhere.parent)
        return
    folder.mkdir(0o700)
    if how == "file is a link":
        gate.symlink_to(elsewhere)
    elif how == "file is a hard link":
        gate.hardlink_to(elsewhere)
    elif how == "file is a pipe":
        os.mkfifo(gate, 0o600)
    elif how == "everybody can write":
        folder.chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(folder, OTHER, OTHER)
    else:
        pytest.skip("only root can give a folder to another account")


@pytest.mark.parametrize(
    "how",
    [
        "folder is a link",
        "file is a link",
        "file is a hard link",
        "file is a pipe",
        "everybody can write",
        "of another account",
    ],
)
def test_a_gate_that_another_account_left_empties_no_file(tmp_path: Path, how: str) -> None:
    (tmp_path / "ours").mkdir()
    precious = tmp_path / "ours" / "precious"
    precious.write_text("kept")
    folder = tmp_path / "gates"
    plant(folder, precious, how)
    before = [file.read_bytes() for file in sorted(precious.parent.iterdir())]
    with (
        pytest.raises(FetchError, match=rf"cannot keep the gate {folder}/feeds\.example\.gate: "),
        Gates(folder).turn("feeds.example"),
    ):
        pass
    assert [file.read_bytes() for file in sorted(precious.parent.iterdir())] == before


def test_gates_beside_a_store_may_belong_to_the_account_of_the_store(tmp_path: Path) -> None:
    """Such as for a command that root runs beside the service."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another account")
    folder = tmp_path / "gates"
    plant(folder, tmp_path, "of another account")
    with Gates(folder, owner=OTHER).turn("feeds.example"):
        (gate,) = folder.iterdir()
    assert gate.stat().st_size
