"""The process of the demo at a first start: python -m monitor.cli.demo_pages SOCKET FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from monitor.cli.start import play
from monitor.service.demo import serve_demo


def main(descriptor: int, folder: Path) -> int:
    return serve_demo(descriptor, folder, lambda folder: play(folder, None))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2])))
