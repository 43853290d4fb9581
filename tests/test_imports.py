"""Which module may import what: the layers, the one home of each library, and what stays pure.

The tables list who *may*; everybody else may not, so that a new file is bound by them as well.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "monitor"

# From the composition root down: a module imports from its own row's package and from rows below.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("cli",),
    ("service", "testing"),
    ("web",),
    ("commands",),
    ("app",),
    ("pipeline",),
    ("config",),
    ("plugins",),
    ("rank",),
    ("channels", "embeddings", "look_up"),
    ("sources", "diff", "match", "digest", "store"),
    ("identity",),
    ("http", "text", "clocks", "resources", "log"),
    ("signing",),
    ("setting_types",),
    ("model",),
    ("private_files", "commit"),
    ("errors",),
)

# Each library, and each module of Python that does I/O or brings in chance: its only homes.
HOMES: dict[str, tuple[str, ...]] = {
    "alembic": ("store/engine/migrate.py",),
    "apprise": ("channels/apprise/service.py",),
    "apscheduler": ("service/jobs.py", "service/pools.py"),
    "atexit": ("cli/__init__.py", "sources/sandbox.py"),
    "asyncio": (
        "service/workers.py",
        "web/connections.py",
        "web/guesses.py",
        "web/pages/api.py",
        "web/routes.py",
        "web/shared_pages.py",
    ),
    "backports": ("sources/fields/encoding.py", "store/digests/packed.py"),
    "bibtexparser": ("commands/export.py", "sources/bibtex.py"),
    "ctypes": ("service/process.py",),
    "compression": ("sources/fields/encoding.py", "store/digests/packed.py"),
    "concurrent": (
        "channels/slack/socket_mode.py",
        "pipeline/deliver.py",
        "service/workers.py",
        "store/engine/database.py",
        "web/site.py",
    ),
    "contextvars": ("http/host_limits.py",),
    "cronsim": ("digest/schedule.py",),
    "cryptography": ("channels/email/oauth.py",),
    "css_inline": ("digest/render.py",),
    "dns": ("channels/email/sender_dns.py",),
    "fcntl": ("http/host_limits.py", "store/engine/locks.py"),
    "feedparser": ("sources/feed/xml_feed.py",),
    "h11": ("web/connections.py",),
    "http": ("http/client.py", "testing/*"),
    "httpcore": ("channels/post.py", "http/*"),
    "httpx": ("channels/post.py", "http/*"),
    "idna": ("channels/email/channel.py",),
    "inspect": ("cli/options.py",),
    "itsdangerous": ("signing.py",),
    "jinja2": ("digest/render.py",),
    "latex2mathml": ("digest/render.py",),
    "markupsafe": (
        "digest/chat_messages.py",
        "digest/render.py",
        "web/pages/digests.py",
    ),
    "multiprocessing": ("sources/sandbox.py",),
    "nh3": ("sources/fields/markup.py",),
    "numpy": (
        "match/index/*",
        "rank/*",
    ),
    "os": (
        "app.py",
        "channels/email/sendmail.py",
        "channels/file.py",
        "channels/page_index.py",
        "cli/__init__.py",
        "cli/start.py",
        "commands/first_start.py",
        "commands/heartbeat.py",
        "config/content.py",
        "config/files.py",
        "private_files.py",
        "service/demo.py",
        "service/pages.py",
        "sources/base.py",
        "sources/files.py",
        "sources/sandbox.py",
        "store/engine/processes.py",
        "store/engine/database.py",
        "store/engine/locks.py",
    ),
    "prometheus_client": ("commands/metrics.py",),
    "procrastinate": ("service/job_queue.py", "service/workers.py"),
    "psycopg": (),
    "pydantic": (
        *("channels/*", "config/*", "embeddings/settings.py", "look_up/settings.py"),
        *("setting_types.py", "sources/*", "testing/*"),
    ),
    "pydantic_core": (
        "config/declared.py",
        "config/messages.py",
        "config/schema.py",
        "setting_types.py",
    ),
    "pytest": ("testing/*",),
    "random": ("testing/sources.py",),
    "rapidfuzz": ("identity/*",),
    "resource": ("sources/sandbox.py",),
    "rich": ("cli/*",),
    "rispy": ("commands/export.py",),
    "secrets": (
        "cli/mail.py",
        "cli/rehearsals.py",
        "commands/web_login.py",
        "pipeline/freeze.py",
        "store/engine/locks.py",
        "store/secrets.py",
    ),
    "select": ("config/content.py",),
    "shutil": (
        "cli/start.py",
        "commands/first_start.py",
        "commands/status.py",
        "store/restore.py",
    ),
    "signal": ("channels/email/sendmail.py", "service/process.py"),
    "slack_sdk": ("channels/slack/clients.py", "channels/slack/socket_mode.py"),
    "smtplib": ("channels/email/smtp.py",),
    "socket": (
        "channels/email/smtp.py",
        "commands/heartbeat.py",
        "http/dialing.py",
        "service/demo.py",
        "service/pages.py",
        "store/engine/processes.py",
        "testing/channels.py",
        "web/listening.py",
        "web/server.py",
    ),
    "sqlalchemy": ("store/*",),
    "sqlite3": ("store/engine/database.py", "store/engine/connect.py"),
    "ssl": (
        "channels/email/smtp.py",
        "channels/post.py",
        "http/dialing.py",
        "http/client.py",
    ),
    "starlette": ("web/*",),
    "subprocess": (
        *("channels/email/sendmail.py", "commit.py"),
        *("service/demo.py", "service/pages.py", "sources/sandbox.py"),
    ),
    "tempfile": (
        "app.py",
        "channels/email/sendmail.py",
        "channels/file.py",
        "cli/opening.py",
        "cli/rehearsals.py",
        "cli/service.py",
        "http/client.py",
        "store/engine/connect.py",
    ),
    "threading": (
        "http/*",
        "app.py",
        "channels/apprise/*",
        "channels/email/oauth.py",
        "channels/file.py",
        "commands/heartbeat.py",
        "commands/slack_answers.py",
        "match/index/__init__.py",
        "pipeline/deliver.py",
        "pipeline/runtime.py",
        "pipeline/unchanged.py",
        "service/*",
        "store/engine/database.py",
        "store/engine/sql.py",
        "testing/*",
        "web/guesses.py",
        "web/server.py",
    ),
    "time": (
        "channels/email/oauth.py",
        "channels/email/smtp.py",
        "channels/post.py",
        "channels/webhook/channel.py",
        "channels/slack/api.py",
        "clocks.py",
        "cli/mail.py",
        "config/content.py",
        "http/client.py",
        "http/host_limits.py",
        "pipeline/ingest.py",
        "pipeline/embeddings.py",
        "pipeline/look_up.py",
        "pipeline/service_round.py",
        "pipeline/store_chunk.py",
        "pipeline/deliver.py",
        "service/demo.py",
        "service/jobs.py",
        "service/pools.py",
        "service/scheduler.py",
        "service/slack_listener.py",
        "sources/feed/xml_feed.py",
        "web/guesses.py",
    ),
    "typer": ("cli/*",),
    "uvicorn": ("web/connections.py", "web/server.py"),
    "uuid": ("channels/file.py",),
    "webbrowser": ("cli/terminal.py",),
    "xxhash": ("identity/keys.py", "sources/jsonl/decompress.py"),
    "yaml": ("cli/start.py", "config/yaml_positions.py"),
}
# What does no I/O and does not use any of it: the standard library's rest is enough for everybody.
ANYWHERE = {
    "__future__", "abc", "array", "ast", "base64", "binascii", "bisect", "bz2", "calendar",
    "codecs", "collections", "contextlib", "csv", "dataclasses", "datetime", "difflib",
    "email", "enum", "errno", "fnmatch", "functools", "gc", "glob", "gzip", "hashlib",
    "heapq", "hmac", "html", "importlib", "io", "ipaddress", "itertools", "json", "logging",
    "math", "msgspec", "operator", "pathlib", "pickle", "pkgutil", "queue", "re", "shlex",
    "stat", "statistics", "string", "struct", "structlog", "sys", "textwrap", "traceback", "types",
    "typing", "unicodedata", "urllib", "weakref", "xml", "zlib", "zoneinfo",
}  # fmt: skip
# Packages and files that decide: they read no file, no clock and no chance.
PURE = (
    "channels/email/render.py",
    "channels/retry_policy.py",
    "channels/short.py",
    "channels/slack/blocks.py",
    "channels/slack/menus.py",
    "diff/*",
    "digest/about.py",
    "digest/explain.py",
    "digest/draft.py",
    "digest/excerpt.py",
    "digest/excerpt_before_rule_2.py",
    "digest/layout.py",
    "digest/links.py",
    "digest/passage.py",
    "digest/schedule.py",
    "digest/sections/*",
    "digest/sentence_value.py",
    "digest/shown.py",
    "digest/wording.py",
    "identity/*",
    "match/*",
    "model/*",
    "pipeline/source_silence.py",
    "rank/*",
    "signing.py",
    "text/*",
    "web/access.py",
    "web/plots.py",
)
IMPURE_MODULES = {
    "glob",
    "io",
    "logging",
    "pathlib",
    "select",
    "structlog",
    "sys",
    "urllib.request",
}
IMPURE_NAMES = {"open", "print", "input", "now", "today", "utcnow", "monotonic", "urandom"}
PUBLIC = {
    "monitor.diff": ("Verdict", "same_work"),
    "monitor.errors": ("MonitorError", "UsageError", "StoreError"),
    "monitor.match": ("TopicIndex", "parse_query"),
    "monitor.model": ("Paper",),
    "monitor.rank": ("Judged", "learn"),
    "monitor.sources.base": ("Source", "Reading"),
    "monitor.testing": ("ChannelContract", "SourceContract"),
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield every module that is imported, also for types only."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements with those inside of functions and branches, but what is for types only."""
    for statement in body:
        yield statement
        if not (isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)):
            inner = (node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt))
            yield from statements(inner)


def is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def layer(room: str) -> int:
    return next(number for number, rooms in enumerate(LAYERS) if room in rooms)


def forbidden_imports(path: Path, name: str) -> list[str]:
    """Return what a file imports and may not at this place in the package."""
    room = name.partition("/")[0].removesuffix(".py")
    found = []
    for module in imported(ast.walk(parsed(path))):
        top = module.partition(".")[0]
        if top == "monitor":
            other = module.split(".")[1]
            outside = room not in ("__init__", "__main__", other)
            if outside and layer(other) <= layer(room):
                found.append(f"{name}: {module} is not below it")
        elif top in HOMES:
            if not is_one_of(name, HOMES[top]):
                found.append(f"{name}: {top} belongs to {', '.join(HOMES[top]) or 'nobody'}")
        elif top not in ANYWHERE:
            found.append(f"{name}: {top} is in no table of tests/test_imports.py")
        if is_one_of(name, PURE) and (top in IMPURE_MODULES or module in IMPURE_MODULES):
            found.append(f"{name}: decides, and imports {module}")
    return found


def impure_names(path: Path) -> list[str]:
    """Return the names of I/O, clocks and chance that a file calls."""
    called = [node.func for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    names = [f.id if isinstance(f, ast.Name) else getattr(f, "attr", "") for f in called]
    return [f"{name_of(path)}: {name}()" for name in names if name in IMPURE_NAMES]


def test_a_module_imports_only_what_it_may():
    assert [fault for path in modules() for fault in forbidden_imports(path, name_of(path))] == []


@pytest.mark.parametrize(
    ("example", "place"),
    [
        ("plugin-channel/mattermost.py", "channels/mattermost.py"),
        ("plugin-source/paper_monitor_bulletin.py", "sources/bulletin.py"),
    ],
)
def test_what_the_docs_say_to_write_may_be_built_in(example: str, place: str):
    assert forbidden_imports(ROOT / "docs" / "examples" / example, place) == []


def test_decisions_do_no_io():
    pure = [path for path in modules() if is_one_of(name_of(path), PURE)]
    assert [call for path in pure for call in impure_names(path)] == []


def test_every_home_is_lived_in():
    """A library that moved out or a file that is gone leaves no permission behind."""
    tops = {
        name_of(path): {m.partition(".")[0] for m in imported(ast.walk(parsed(path)))}
        for path in modules()
    }
    unused = [
        f"{library}: {home}"
        for library, homes in HOMES.items()
        for home in homes
        if not any(library in found for name, found in tops.items() if fnmatchcase(name, home))
    ]
    assert unused == []
    assert [pattern for pattern in PURE if not any(fnmatchcase(n, pattern) for n in tops)] == []


def test_no_module_imports_itself_in_a_circle():
    names = {
        f"monitor.{name_of(p)[:-3].replace('/', '.')}".removesuffix(".__init__"): p
        for p in modules()
    }
    edges: dict[str, set[str]] = {}
    for here, path in names.items():
        for module in imported(statements(parsed(path).body)):
            target = module if module in names else module.rpartition(".")[0]
            if target in names and target != here:
                edges.setdefault(here, set()).add(target)
    assert circles(edges) == []


def circles(edges: dict[str, set[str]]) -> list[str]:
    """Return a path around each circle of imports."""
    found: list[str] = []
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        if module in way:
            found.append(" -> ".join((*way[way.index(module) :], module)))
        elif module not in done:
            for other in sorted(edges.get(module, ())):
                visit(other, (*way, module))
            done.add(module)

    for module in sorted(edges):
        visit(module, ())
    return found


def test_what_plugins_and_scripts_import_stays():
    gone = [
        f"{module}.{name}"
        for module, names in PUBLIC.items()
        for name in names
        if not hasattr(importlib.import_module(module), name)
    ]
    assert gone == []
