"""Documentation is part of the work: what a user can meet is in docs/, or this fails."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from monitor import errors, plugins
from monitor.config.schema import schema
from monitor.digest import incident_words
from monitor.model import ChangeKind, DeliveryState, FirstRun, RunOutcome
from monitor.web.application import ROUTES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def error_names() -> list[str]:
    found = inspect.getmembers(errors, inspect.isclass)
    return [n for n, kind in found if issubclass(kind, Exception) and n != "MonitorError"]


def settings() -> list[str]:
    """Every name that may stand before a colon in monitor.yaml."""
    names: set[str] = set()

    def walk(part: object) -> None:
        if isinstance(part, dict):
            names.update(part.get("properties", {}))
            for value in part.values():
                walk(value)
        elif isinstance(part, list):
            for value in part:
                walk(value)

    walk(schema())
    return sorted(names)


EXPLAINED = [
    *(("errors.md", f"`{name}`") for name in error_names()),
    *(("errors.md", f"\n| `{word}` |") for word in [*RunOutcome, *DeliveryState]),
    *(("configuration.md", f"`{name}`") for name in settings()),
    *(("configuration.md", f"`{word}`") for word in [*FirstRun, *ChangeKind]),
    *(("sources.md", f"## `{kind}`") for kind in plugins.SOURCES.built_in),
    *(("channels.md", f"`{kind}`") for kind in plugins.CHANNELS.built_in),
]


@pytest.mark.parametrize(("name", "text"), EXPLAINED)
def test_what_users_meet_is_explained(name: str, text: str):
    assert text in page(name)


def paths_of_pages() -> set[str]:
    """Return the addresses of pages, without files, the API, and what links of mails lead to."""
    paths = {route.path for route in ROUTES if "GET" in (route.methods or ())}
    return {
        path
        for path in paths
        if not path.startswith(("/api/v1/", "/static/", "/u/", "/v/", "/r/"))
        and not re.search(r"\.(?:bib|ris|csv|json)$", path)
    }


def test_each_page_is_explained():
    text = page("pages.md")
    paths = paths_of_pages()
    assert {"/deliveries", "/papers/{id}", "/feed/{name}.atom"} <= paths
    assert [
        path
        for path in sorted(paths)
        if not re.search(rf"`{re.sub(r'{[^}]*}', '[A-Z]+', path.replace('.', '[.]'))}`", text)
    ] == []


@pytest.mark.parametrize("began", sorted({each.began for each in incident_words.every()}))
def test_each_incident_is_explained_by_its_words(began: str):
    table = page("errors.md").lower()
    assert all(part.strip() in table for part in began.lower().split("{}"))


def test_status_calls_incidents_as_the_page_does_in_brackets():
    """`NAME has brought no papers` (source, silent): `status` says "has been silent"."""
    rows = re.findall(
        r"^\| `([^`]+)`.*? \((?:source, ([\w ]+)|(down))\) \|", page("errors.md"), re.M
    )
    lasting = {words.began.partition("{} ")[2]: words.lasting for words in incident_words.every()}
    named = {began.removeprefix("NAME "): name or down for began, name, down in rows}
    assert {"has brought no papers": "silent", "cannot be read": "failing"}.items() <= named.items()
    differ = {began: name for began, name in named.items() if name not in lasting.get(began, name)}
    assert differ == {}


# Files that the reader of docs/contributing.md would write.
NEW_FILES = {
    "monitor/channels/mastodon.py",
    "monitor/digest/sections/followed.py",
    "monitor/sources/bulletin.py",
}


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *PAGES], ids=lambda path: path.name)
def test_what_a_page_names_exists_and_no_line_is_too_long_to_read(path: Path):
    text = path.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)", text):
        there = path.parent / target if target else path
        assert there.exists(), target
        assert not anchor or anchor in anchors(there.read_text("utf-8")), f"{target}#{anchor}"
    for file in set(re.findall(r"`((?:monitor|tests|benchmarks)/[\w./]*)`", text)) - NEW_FILES:
        assert (ROOT / file).exists() or (path.parent / file).exists(), file
    assert [n for n, line in enumerate(text.splitlines(), 1) if len(line) > 200] == []


def anchors(text: str) -> set[str]:
    """Return the names that a renderer gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in headings}


def test_the_path_of_a_paper_is_short():
    """docs/architecture.md leads from an item of a feed to a mail through twenty files at most."""
    section = page("architecture.md").split("## From an RSS item to a mail\n")[1].split("\n## ")[0]
    assert 10 < len(re.findall(r"^\d+\. `monitor/", section, re.MULTILINE)) <= 20


def test_the_readme_begins_with_two_pictures_one_line_to_run_and_the_promises():
    """Pictures of the docs, of less than 100 kB each, which all see who look at the project."""
    before, promises = (ROOT / "README.md").read_text(encoding="utf-8").split("## ", 2)[:2]
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", before)
    assert len(pictures) == 2
    assert all((ROOT / picture).stat().st_size < 100_000 for picture in pictures)
    assert re.findall(r"^    .+", before, re.MULTILINE) == ["    make demo"]
    assert promises.startswith("What it promises\n")
    assert re.findall(r"^(\d)\. ", promises, re.MULTILINE) == list("123456")


def test_the_first_source_of_a_newcomer_needs_no_hands():
    """One line, in all places where they look; a page that they have to save comes later."""
    line = "daily-papers: {kind: huggingface}"
    starter = (ROOT / "templates" / "starter" / "monitor.yaml").read_text(encoding="utf-8")
    for text in (
        (ROOT / "README.md").read_text(encoding="utf-8"),
        page("getting-started.md"),
        starter,
    ):
        first = text.split("\nsources:\n")[1].split("\n")[0]
        assert re.sub(": +", ": ", first.split("#")[0].strip()) == line


def test_each_version_begins_with_what_its_users_have_to_do():
    """Ten lines at most: what docs/upgrading.md asks them to read first."""
    versions = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert versions
    for version in versions:
        name, text = version.split("\n", 1)
        assert text.startswith("\n### You have to\n"), name
        lines = [line for line in text.split("\n### ")[1].splitlines()[1:] if line]
        assert 0 < len(lines) <= 10, name


def test_make_demo_says_what_it_does_and_shows_the_progress_of_pip(tmp_path: Path):
    """Where nothing is installed yet, as in a new clone."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    command = ["make", "--no-print-directory", "--dry-run", "demo"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("echo ")
    [pip] = [line for line in lines if "pip install" in line]
    assert "--quiet" not in pip
    assert lines[-1].endswith("paper-monitor demo demo")


def test_every_make_word_that_is_named_exists():
    words = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    result = "\n".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *PAGES])
    assert set(re.findall(r"^    make ([a-z]+)", result, re.MULTILINE)) <= words


def test_the_codes_of_the_tests_are_the_guarantees_of_the_page():
    """Each code in a test's name, or in a comment's parentheses, has its line; no other has one."""
    listed = re.findall(r"^\| ([A-Z]\d{1,2}) \|", page("guarantees.md"), re.MULTILINE)
    tested = set[str]()
    cited = set[str]()
    for path in [*(ROOT / "tests").rglob("*.py"), *(ROOT / "monitor").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        for codes in re.findall(r"def test_((?:[A-Z]\d{1,2}_)+)", text):
            tested.update(codes.strip("_").split("_"))
        for codes in re.findall(r"\(([A-Z]\d{1,2}(?:, [A-Z]\d{1,2})*)\)", text):
            cited.update(codes.split(", "))
    assert len(listed) == len(set(listed))
    assert set(listed) == tested
    assert cited <= tested


# What other programs say.
OF_OTHERS = {
    "403 Forbidden",
    "535",
    "550 5.1.1",
    "Connection refused",
    "Hostname mismatch",
    "No space left on device",
    "Permission denied",
    "certificate verify failed",
    "unable to get local issuer certificate",
}


# Pages that quote errors of channels.
CHANNELS = ("channels.md", "ntfy.md", "apprise.md")


def quoted_errors() -> list[str]:
    """Return the parts of the messages that the pages quote, without what stands for …"""
    [sources] = re.findall(r"^## Errors and rejections\n(.*?)^## ", page("sources.md"), re.S | re.M)
    of_channels = "\n\n".join(map(page, CHANNELS))
    rows = re.findall(r"^\| (`[^|]+) \|[^|]+\|$", of_channels, re.M)
    tables = of_channels.split("| error | what to do |")[1:]
    cells = [row for row in rows if any(row in table.split("\n\n")[0] for table in tables)]
    quoted = re.findall(r"``(.+?)``|`([^`]+)`", "\n".join([sources, *cells]))
    texts = [" ".join((one or other).split()) for one, other in quoted]
    messages = [one for one in texts if "…" in one or (" " in one and not re.match(r"\w+: ", one))]
    parts = {part.strip(" :;,.") for one in messages for part in one.split("…")}
    return sorted(part for part in parts if len(part) > 6)


def literals() -> set[str]:
    """Return the strings of the code, with … where a value is put in."""
    found = set()
    for path in (ROOT / "monitor").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Constant(str(value)):
                    found.add(value)
                case ast.JoinedStr(values):
                    parts = [getattr(value, "value", "…") for value in values]
                    found.add("".join(part if isinstance(part, str) else "…" for part in parts))
    return found


def test_each_error_that_the_pages_quote_is_in_the_code():
    texts = "\n".join(literals())
    parts = quoted_errors()
    for words in OF_OTHERS:
        parts = [part.replace(words, "").strip(" :,") for part in parts]
    assert len(parts) > 60
    assert [part for part in parts if part not in texts] == []


def test_the_receiver_that_the_page_of_webhooks_shows_is_the_example():
    excerpt = page("webhook.md").split("```python\n")[1].split("```")[0]
    assert excerpt in (DOCS / "examples" / "webhook_receiver.py").read_text(encoding="utf-8")


def test_every_event_of_the_log_is_explained_and_no_other():
    """The table of docs/operations.md, held against each `log.…(event, …)` of the code."""
    logged = set()
    for path in (ROOT / "monitor").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(ast.Attribute(ast.Name("log"), "log"), [_, ast.Constant(event), *_]):
                    logged.add(event)
                case ast.Call(ast.Attribute(ast.Name("log"), _), [ast.Constant(event), *_]):
                    logged.add(event)
    section = page("operations.md").split("## The log\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    assert {event for row in rows for event in re.findall(r"`([^`]+)`", row)} == logged


def test_every_dependency_has_a_reason():
    reasons = page("decisions/0001-dependencies.md").lower()
    text = (ROOT / "pyproject.toml").read_text()
    block = text.split("dependencies = [", 1)[1].split("]\n\n[project.scripts]")[0]
    for name in re.findall(r'"([a-z0-9-]+)[\[><]', block):
        assert name.replace("-", " ") in reasons.replace("-", " "), name


def test_the_project_names_no_machine():
    tracked = subprocess.run(
        [
            "git",
            "grep",
            "-nIE",
            r"/(root|home)/[a-z]+/|pypi\.org/simple",
            "--",
            ".",
            ":!tests/test_docs.py",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert tracked.stdout == ""


def test_the_alerts_to_copy_name_metrics_that_there_are():
    rules = (DOCS / "examples" / "alerts.yml").read_text(encoding="utf-8")
    metrics = (DOCS / "operations.md").read_text(encoding="utf-8")
    named = set(re.findall(r"paper_monitor_\w+", rules))
    assert named <= set(re.findall(r"`(paper_monitor_\w+)`", metrics))


def test_no_example_is_empty():
    files = [path for path in (DOCS / "examples").rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if not path.stat().st_size] == []


def test_the_caddyfile_lets_pass_what_the_recipe_of_the_pages_does():
    """Without a login: mail programs, feed readers, monitoring and robots have none."""
    rule = re.compile(r"@without_login path (.+)")
    [example] = rule.findall((DOCS / "examples" / "Caddyfile").read_text(encoding="utf-8"))
    [recipe] = rule.findall(page("pages.md"))
    assert "/robots.txt" in recipe.split()
    assert example.split() == recipe.split()
