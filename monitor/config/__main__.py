"""`python -m monitor.config` writes the JSON Schema of monitor.yaml, for editors, to stdout.

It describes the kinds of installed plug-ins, too. `python -m monitor.config --docs FOLDER` writes
what the docs have of the settings: the schema, and the tables in the pages of that folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from monitor.config.schema import schema
from monitor.config.tables import write
from monitor.errors import UsageError


def main() -> None:
    try:
        match sys.argv[1:]:
            case []:
                sys.stdout.write(_written(schema(plugins=True)))
            case ["--docs", folder]:
                write(Path(folder))
                path = Path(folder) / "monitor.schema.json"
                path.write_text(_written(schema()), encoding="utf-8")
            case _:
                sys.exit("usage: python -m monitor.config [--docs FOLDER]")
    except UsageError as error:
        sys.exit(f"{error.message}; {error.hint}")


def _written(schema: object) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
