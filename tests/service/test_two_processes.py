"""Two real processes and one host that wants its requests three seconds apart."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from tests.patience import PATIENCE
from tests.servers.web import Answer, Asked, misbehaving_server

FETCHES = """
import sys
from pathlib import Path
from monitor.http.client import HttpClient

def resolve(host, port):
    return [host] if host == "127.0.0.1" else ["93.184.216.34"]


client = HttpClient(version="1", gate_dir=Path(sys.argv[1]), resolve=resolve)
for url in sys.argv[2:]:
    assert client.get(url).content == b"x"
"""
RSS, API, OAI = (f"http://{name}.arxiv.org/" for name in ("rss", "export", "oaipmh"))


def test_F1_two_processes_are_never_closer_than_three_seconds_to_arxiv(tmp_path: Path) -> None:
    """The server stands in for arXiv's hosts as their proxy, and looks at its own clock."""
    asked: list[tuple[float, str]] = []

    def answer(request: Asked) -> Answer:
        asked.append((time.monotonic(), request.target))
        return Answer(body=b"x")

    with misbehaving_server() as web:
        web.decides("*", answer)
        env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        env["http_proxy"] = f"http://127.0.0.1:{web.port}"
        command = [sys.executable, "-c", FETCHES, str(tmp_path)]
        both = [subprocess.Popen([*command, *urls], env=env) for urls in ((RSS, API), (OAI, RSS))]
        assert [process.wait(timeout=PATIENCE) for process in both] == [0, 0]
        assert web.most_at_once == 1
    assert sorted(url for _, url in asked) == sorted((RSS, API, OAI, RSS))
    assert all(later - earlier >= 3.0 for (earlier, _), (later, _) in pairwise(asked))
