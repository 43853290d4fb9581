"""One authority for TLS, in place of the hundred and more that a machine trusts.

Each context reads all of them, which takes longer than most tests; none of them is asked here.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trustme


@contextmanager
def one_authority() -> Iterator[None]:
    """Let this process and those that it starts trust one authority, which signed nothing."""
    before = os.environ.get("SSL_CERT_FILE")
    with tempfile.TemporaryDirectory(prefix="paper-monitor-authority-") as folder:
        file = Path(folder) / "ca.pem"
        trustme.CA().cert_pem.write_to_path(str(file))
        os.environ["SSL_CERT_FILE"] = str(file)
        try:
            yield
        finally:
            if before is None:
                del os.environ["SSL_CERT_FILE"]
            else:
                os.environ["SSL_CERT_FILE"] = before
