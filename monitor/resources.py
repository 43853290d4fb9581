"""Where templates, migrations and seeds lie: in a wheel, an editable install or a checkout."""

from __future__ import annotations

from pathlib import Path


def resource(name: str) -> Path:
    """Return the folder `name` (templates, migrations, seeds); FileNotFoundError if it is gone."""
    inside = Path(__file__).parent / name
    beside = Path(__file__).parent.parent / name
    for folder in (inside, beside):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"this installation has no {name}/ folder; install paper-monitor again")
