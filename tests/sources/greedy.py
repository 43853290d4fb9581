"""A kind of source that does to its reader whatever its document says."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

from monitor.model import Document, Paper, Reading
from monitor.sources.api.values import Record
from monitor.sources.base import Source
from monitor.sources.crossref import Crossref


class Greedy(Source):
    """Begins a document with what it does: `hang`, `eat`, `wait PIPE`, ..."""

    kind = "greedy"

    def read(self, document: Document) -> Reading:
        match document.content[:5].strip():
            case b"hang":
                while True:
                    signal.pause()
            case b"wait":
                with Path(os.fsdecode(document.content.split()[1])).open() as end:
                    end.readline()
            case b"bound":
                return Reading((Paper(f"{resource.getrlimit(resource.RLIMIT_CPU)[0]}"),))
            case b"eat":
                return Reading((Paper(str(len(b"x" * 2**31))),))
            case b"die":
                os._exit(3)
            case b"ring":
                ring: list[object] = [bytearray(160 * 1024 * 1024)]
                ring.append(ring)
            case b"raise":
                raise KeyError("nobody thought of it")
        return Reading((Paper(f"read by {os.getpid()}"),))


class DeadlyApi(Crossref):
    """Ends the process that reads a record."""

    def paper(self, record: Record) -> Paper:
        os._exit(3)
