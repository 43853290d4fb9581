"""Two hundred digests of all shapes, each paper once and everything within its limits."""

from __future__ import annotations

from tests.channels.limits import check_limits


def test_M15_E16_no_digest_breaks_a_limit() -> None:
    check_limits()
