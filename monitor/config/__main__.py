"""`python -m monitor.config` writes the JSON Schema of monitor.yaml to stdout."""

import json
import sys

from monitor.config import schema

sys.stdout.write(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")
