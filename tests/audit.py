"""Known vulnerabilities of what the image contains, by pip-audit.

    python -m tests.audit

The status is 1 where something is vulnerable, and 2 where the service could not be asked about
everything, so that nothing is known: a package without an answer is not taken for a good one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCKED = Path(__file__).parent.parent / "requirements" / "image.txt"
COMMAND = ("-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--disable-pip")


def main() -> int:
    asked = subprocess.run(
        [sys.executable, *COMMAND, "--require-hashes", "--requirement", str(LOCKED)],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found = json.loads(asked.stdout)["dependencies"]
    except ValueError:
        print(f"pip-audit had no answer from its service: {asked.stderr.strip()[-300:]}")
        return 2
    return report(found)


def report(found: list[dict[str, Any]]) -> int:
    """Print what is vulnerable and what is not known; return the status."""
    unknown = [one["name"] for one in found if "skip_reason" in one]
    vulnerable = [one for one in found if one.get("vulns")]
    for one in vulnerable:
        ids = ", ".join(fault["id"] for fault in one["vulns"])
        print(f"{one['name']} {one['version']}: {ids}")
    print(f"{len(found) - len(unknown)} packages audited, {len(vulnerable)} vulnerable")
    if unknown:
        print(f"the service did not answer for {len(unknown)}, of which nothing is known:")
        print(", ".join(unknown))
    return 1 if vulnerable else 2 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
