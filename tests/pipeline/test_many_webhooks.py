"""A small share of `python -m tests.webhooks`: the sender killed at each step, answers lost."""

from __future__ import annotations

from pathlib import Path

from tests.webhooks import webhooks


def test_a_receiver_that_keeps_ids_has_each_digest_once(tmp_path: Path) -> None:
    result = webhooks(tmp_path, 60)
    assert result.kills.total() >= 14 and result.answers[401] == 0
    assert result.is_whole, result
