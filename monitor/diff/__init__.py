"""Diff: is it the same paper, and is it news? Pure decisions over plain values."""

from monitor.identity.same_work import Verdict, same_work

__all__ = ["Verdict", "same_work"]
