"""What both commits are given: drawn with fixed seeds, without anything of the package."""

from __future__ import annotations

import ast
import copy
import gzip
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from textwrap import dedent
from typing import Any

import yaml

Record = dict[str, Any]

# The days of the installation: on each, a seed and a dump of records are read, and digests sent.
DAYS = ("2026-03-12", "2026-03-13", "2026-03-16", "2026-03-17")
NOW = f"--now {DAYS[-1]}T12:00:00+01:00"
PUBLIC = "https://papers.example.org"
TOKEN = "an operator's own token of enough length"
ENVIRONMENT = {
    "PW": "hush-4711",
    "TZ": "UTC",
    "COLUMNS": "120",
    "NO_COLOR": "1",
    "OPENBLAS_NUM_THREADS": "1",  # a fork has no other threads
}

NAMES = (
    "Ada Lovelace", "Yoshua Bengio", "Bengio, Y.", "Xiao-Ming Wang", "Wang Xiaoming", "Kurt Gödel",
    "José García Márquez", "J. G. Marquez", "Łukasz Kaiser", "van den Oord, Aaron", "Grace Hopper",
    "Wei Li", "Li Wei", "W. Li", "M. O'Neil", "Martin Luther King Jr.", "李伟", "DeepMind Team",
)  # fmt: skip
VENUES = ("", "NeurIPS 2024", "Proc. of the 38th ICML", "CoRR", "arXiv", "Nature", "ICLR workshop")
TYPES = ("", "", "", "", "retraction", "correction", "comment", "expression of concern")


def read_seeds(folder: Path) -> list[list[Record]]:
    """Return title and abstract of each paper in each seed, one list a file."""
    return [_read_seed(file) for file in sorted(folder.glob("*.txt"))]


def _read_seed(file: Path) -> list[Record]:
    blocks = [block.strip() for block in file.read_text(encoding="utf-8").split("\n\n")]
    return [
        {"title": title, "abstract": abstract}
        for title, abstract in itertools.pairwise(blocks)
        if len(title) < 250 < len(abstract)
    ]


# ── records and their variants ──────────────────────────────────────────────────────


def describe(random: Random, paper: Record) -> Record:
    """Return a title and abstract as a complete record of a source."""
    number = random.randrange(10_000, 99_999)
    schemes = {
        "arxiv": f"26{random.randint(1, 3):02}.{number}",
        "doi": f"10.1234/conf.{number}",
        "pmid": str(number * 31),
        "openreview": f"forum{number}",
    }
    return paper | {
        "authors": random.sample(NAMES, random.randint(1, 4)),
        "venue": random.choice(VENUES),
        "year": random.choice((2024, 2025, 2026)),
        "published": f"2026-{random.randint(1, 3):02}-{random.randint(1, 12):02}",
        "keys": {s: schemes[s] for s in random.sample(list(schemes), random.randint(0, 2))},
        "categories": random.sample(("cs.LG", "cs.AI", "stat.ML"), random.randint(0, 2)),
        "url": f"https://example.org/papers/{number}",
        "raw_id": f"r{number}",
    }


def _change_words(random: Random, record: Record) -> None:
    words = record["title"].split()
    at = random.randrange(len(words))
    match random.randrange(7):
        case 0 if len(words) > 2:
            del words[at]
        case 1:
            words[at], words[-1] = words[-1], words[at]
        case 2:
            words[at] = words[at][1:] or "x"
        case 3:
            words[at] += "s"
        case 4:
            words[at] = words[at].replace("-", " ").upper()
        case 5:
            words[at] = rf"\emph{{{words[at]}}}"
        case _:
            words.insert(at, random.choice(("Deep", "Towards", "3D", "not", "LLM", "$\\beta$-VAE")))
    record["title"] = " ".join(words)


def _change_title(random: Random, record: Record) -> None:
    title, short = record["title"], record["title"].partition(":")[0]
    record["title"] = random.choice(
        (
            short,
            f"{title}: A Study",
            f"{title} (Extended Abstract)",
            f"{title}, Part {random.choice(('I', 'II', '2'))}",
            f"Correction to: {title}",
            f"Reply to “{title}”",
            f"{title} v{random.randint(2, 3)}",
            f"[Retracted] {title}",
            title.upper(),
            title.encode("ascii", "ignore").decode(),
        )
    )


def _change_authors(random: Random, record: Record) -> None:
    names = list(record["authors"])
    if names and random.random() < 0.5:
        first, _, last = names[0].rpartition(" ")
        names[0] = f"{first[:1]}. {last}" if random.random() < 0.5 else f"{last}, {first}"
    else:
        names = random.choice(([], names[:1], names[::-1], [*names, "Ada Lovelace"], ["Wei Li"]))
    record["authors"] = names


def _change_keys(random: Random, record: Record) -> None:
    keys = {k: v for k, v in record["keys"].items() if random.random() < 0.5}
    number = random.randrange(10_000, 99_999)
    added = (
        {},
        {"doi": f"10.1234/conf.{number}"},
        {"doi": f"10.48550/arXiv.2603.{number}"},
        {"arxiv": f"2603.{number}v2"},
        {"pmid": str(number), "doi": f"10.5555/J.{number}"},
    )
    record["keys"] = keys | random.choice(added)


def _change_abstract(random: Random, record: Record) -> None:
    sentences = record["abstract"].split(". ")
    random.shuffle(sentences)
    record["abstract"] = random.choice(
        (
            "",
            ". ".join(sentences),
            record["abstract"][:300],
            f"{record['abstract']} We add a proof.",
        )
    )


def _change_facts(random: Random, record: Record) -> None:
    match random.randrange(6):
        case 0:
            record["year"] = random.choice((None, 2019, 2025, 2026))
        case 1:
            record["venue"] = random.choice(VENUES)
        case 2:
            record["type"] = random.choice(TYPES)
        case 3:
            record["version"] = random.randint(2, 4)
        case 4:
            record["withdrawn"] = True
        case _:
            record["published"] = random.choice(("2019-05-01", "2026-03-10", "2026"))


CHANGES: tuple[Callable[[Random, Record], None], ...] = (
    _change_words, _change_words, _change_title, _change_authors, _change_keys, _change_abstract,
    _change_facts, _change_facts,
)  # fmt: skip


def vary(random: Random, record: Record) -> Record:
    """Return another record, of the same work or of one that is much like it."""
    other = copy.deepcopy(record)
    for change in random.sample(CHANGES, random.choice((0, 1, 1, 2, 3))):
        change(random, other)
    return other


def draw_pairs(random: Random, papers: list[Record], count: int) -> Iterator[tuple[Record, Record]]:
    """Yield pairs to compare: variants of one record, and two records of different works."""
    records = [describe(random, paper) for paper in papers]
    for _ in range(count):
        a, b = random.choice(records), random.choice(records)
        match random.randrange(4):
            case 0:
                yield vary(random, a), b
            case 1:
                yield a, vary(random, a | {"keys": b["keys"], "authors": b["authors"]})
            case _:
                yield vary(random, a), vary(random, vary(random, a))


# ── topics ──────────────────────────────────────────────────────────────────────────

SPECIAL = (
    *("LLM", "LLMs", "RAG", "GNN", "GPT-4", "C++", "multi-agent", "multiagent", "end-to-end", "RL"),
    *("reinforc*", "polic*", "multi-ag*", "=RAG", "=Agent", '="end to end"', '"agent policy"~4'),
    *("behaviour", "behavior", "modelling", "naïve", "β-VAE", "深度", "leaf", "10,000", "3.5"),
    *("title:agent", "abstract:reward", 'author:"Wei Li"', "author:beng*", "category:cs.*"),
    *("venue:neurips", "source:page", "announce:new"),
)
WRONG_TOPICS = (
    *("", "(", "a AND", '"open', "titel:x", "the", "-agent", "NOT agent", "a*", "ag*nt", '"a"~x'),
    *("2 of (a)", "9 of (agent, policy)", "agent^x", "(agent))", "agent OR OR policy", "author:?"),
    *("TITLE-ABS-KEY(agent)", "agent[tiab]", "ti=agent", "TI=(agent*)", "exp agent/", "all:agent"),
    *("agent NEAR/3 policy", "agent W/5 policy", "agent adj3 policy", "a?ent", "/agent/", "au:Li"),
    *("(agent OR policy", "agent && policy", "agent || policy", "!agent", "+agent -the", "*agent"),
    *('intitle:agent', "agent.ti,ab.", "MeSH:agent", "agent AND (OR policy)", "'agent policy'"),
)  # fmt: skip
SYNONYMS = [["RAG", "retrieval-augmented generation"], ["LLM", "large language model"]]


def draw_topics(random: Random, papers: list[Record], count: int) -> dict[str, str]:
    words = [word for paper in papers for word in re.findall(r"[\w-]{3,}", paper["title"])]

    def draw(depth: int) -> str:
        if not depth or random.random() < 0.3:
            match random.randrange(4):
                case 0:
                    return random.choice(SPECIAL)
                case 1:
                    start = random.randrange(len(words) - 3)
                    return f'"{" ".join(words[start : start + random.randint(2, 3)])}"'
                case _:
                    return random.choice(words)
        parts = [draw(depth - 1) for _ in range(random.randint(2, 4))]
        match random.randrange(9):
            case 0:
                return f"{random.randint(1, len(parts))} of ({', '.join(parts)})"
            case 1:
                return f"({parts[0]})^{random.choice((2, 0.5))} OR {parts[1]}"
            case 2:
                return f"{parts[0]} -({parts[1]})"
            case _:
                return f"({random.choice((' OR ', ' OR ', ' OR ', ' AND ', ' ')).join(parts)})"

    return {f"t{number}": draw(random.randint(0, 3)) for number in range(count)}


# ── data beside the project ─────────────────────────────────────────────────────────


def read_lines(file: Path, most: int) -> list[Record]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for _, line in zip(range(most), lines, strict=False)]


def real_topics(folder: Path, most: int) -> dict[str, str]:
    """Return topics of the data: alternatives that must each match, phrases that must not."""
    rows = read_lines(folder / "topics-100k.jsonl.gz", most)
    return {
        f"d{number}": " ".join(
            ["(" + " OR ".join(f'"{text}"' for text in texts) + ")" for texts in row["r"]]
            + [f'-"{text}"' for text in row["n"]]
        )
        for number, row in enumerate(rows)
    }


def labelled_pairs(folder: Path) -> Iterator[tuple[Record, Record]]:
    for file in sorted((folder / "dedupe").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            a, b = (row["a"], row["b"]) if "a" in row else (row["arxiv"], row["venue"])
            if "arxiv" in row:
                a = a | {"year": int(a["created"][:4])}
                b = b | {"venue": b["source"].partition("/")[0]}
            yield a, b
            if a.get("abstract"):
                yield a | {"year": None, "venue": ""}, b | {"year": None, "venue": ""}


# ── the installation ────────────────────────────────────────────────────────────────


def settings(seeds: Path, smtp_port: int, slack_url: str) -> dict[str, Any]:
    """Return monitor.yaml of an installation that uses each kind of channel and schedule."""
    demo = yaml.safe_load((seeds / "monitor.yaml").read_text(encoding="utf-8"))
    return {
        "store": "sqlite:///monitor.db",
        "timezone": "Europe/Berlin",
        "contact": "ops@example.org",
        "public_url": PUBLIC,
        "secret_key": "a key that signs the links of mails",
        "web": {
            "token": TOKEN,
            "user_header": "Remote-User",
            "operators": ["ops@example.org"],
            "trusted_proxies": ["127.0.0.1"],
        },
        "synonyms": {"LLM": "large language model", "RL": ["reinforcement learning"]},
        "retention": {"runs": "90d"},
        "sources": {
            "page": {"kind": "huggingface-page", "path": "page/*.txt", "title": "Daily papers"},
            "records": {"kind": "jsonl", "path": "records/*.jsonl", "first_run": "deliver"},
            "library": {"kind": "ris", "path": "library.ris"},
            "broken": {"kind": "feed", "path": "broken.xml", "first_run": "recent"},
        },
        "topics": demo["topics"]
        | {
            "lists": {"any": ["agent", "language model"], "none": ["robot"], "max": 4},
            "weighed": {"query": "agent^2 OR policy OR reward", "threshold": 2, "weight": 2},
            "changes": {"query": "agent OR learning", "news": ["revised", "withdrawn", "older"]},
            "records": {"query": "learning", "sources": ["records"], "title": "Only records"},
        },
        "channels": {
            "pages": {"kind": "file", "path": "pages/"},
            "lab": {"kind": "slack", "channel": "#papers"},
            "team": {"kind": "email", "to": ["team@example.org", "gone@example.org"]},
        },
        "subscriptions": {
            "ada": {"topics": ["*"], "email": "ada@example.org", "max": 12, "titles": 10},
            "bob": {
                "topics": ["rl-methods", "weighed"],
                "email": ["bob@example.org", "later@example.org"],
                "schedule": "mon+thu 07:30",
                "timezone": "America/New_York",
                "quiet": "send",
                "order": "words",
            },
            "lab": {"topics": ["planning", "lists"], "channels": ["lab", "pages"]},
            "now": {
                "topics": ["changes", "records"],
                "channels": ["team", "pages"],
                "schedule": "immediately",
                "title": "Ändert sich",
                "order": "newest",
            },
            "away": {"topics": ["surveys"], "channels": "pages", "pause_until": "2026-08-31"},
        },
        "operator": {"email": "ops@example.org"},
        "smtp": {
            "host": "127.0.0.1",
            "port": smtp_port,
            "tls": "none",
            "from": "Papers <papers@example.org>",
        },
        "slack": {"token": "xoxb-test-token", "base_url": slack_url},
    }


LIBRARY = "".join(
    f"TY  - JOUR\nTI  - {title}\nAU  - Hopper, Grace\nPY  - 2025\nER  - \n"
    for title in ("Planning with Agents", "A Survey of Reinforcement Learning for Agents")
)


def dumps(seeds: Path) -> list[str]:
    """Return a dump of records for each day: new works, copies of others, and new versions."""
    random, texts, written = Random(7), read_seeds(seeds), list[Record]()
    result = []
    for day in texts:
        known = [vary(random, random.choice(written)) for _ in range(25) if written]
        copies = [vary(random, describe(random, paper)) for paper in random.sample(day, 15)]
        new = [describe(random, vary(random, paper | {"authors": [], "keys": {}}))
               for paper in random.sample(texts[0], 10)]  # fmt: skip
        written += copies + new
        result.append("".join(json.dumps(record) + "\n" for record in known + copies + new))
    return result


# Each is run with --json and without; those that change something come last.
COMMANDS = (
    *("check", "config", "status", "papers search", "papers search agent --limit 20"),
    *("papers search 'title:(agent OR policy) -robot' --limit 500", "papers search (", "papers x"),
    *(f"papers search reward --format {form}" for form in ("bibtex", "ris", "csv", "json")),
    *("papers doubtful", "papers undecided", "papers rated", "papers saved"),
    *("topics try planning", "topics try 'agent AND (policy OR reward)'", "topics try titel:x"),
    *("topics try agent --compare policy", "topics try 'agent^2 OR reward' --threshold 2"),
    *("deliveries list", "suppressions list", "templates preview"),
    *(f"explain {paper}" for paper in (1, 7, 60, 150, 230, 250, 260, 99_999)),
    "explain 'Planning with Agents'",
    *(f"preview --no-open --channel {channel}" for channel in ("page", "email", "slack")),
    *(
        f"preview {name} --no-open --period {day} --channel {channel}"
        for name, day in (("ada", DAYS[0]), ("ada", DAYS[3]), ("lab", DAYS[1]))
        for channel in ("page", "email", "slack")
    ),
    *("read page page/1.txt", "read jsonl records/2.jsonl", "read ris library.ris", "read feed no"),
    *("doctor --alive", "digest --early", "digest ada --early --dry-run"),
    *(f"digest ada --early --dry-run --order {order}" for order in ("words", "newest")),
    *("papers rate 7 up", "papers rate 9 down --topic planning", "papers rate 12 sideways"),
    *("papers save 11", "papers rate 11 none", "papers rated", "papers saved"),
    *("papers merge 3 4", "papers split 3 page", "explain 3", "papers doubtful"),
    *("suppressions add ada@example.org --subscription ada", "suppressions add x", "status"),
    *("suppressions lift ada@example.org --subscription ada", "suppressions confirm"),
    *(
        "deliveries retry 1",
        "deliveries retry 9999",
        "deliveries resolve 1 sent",
        "deliveries list",
    ),
    *("ingest", "ingest nowhere", "run", "send-test ada", "backup copy.db", "restore copy.db"),
    *("init new", "demo play", "check --config none.yaml", "nothing", "--version", "--help"),
)
# Commands that read no store, and those that do not know `--now`.
STORELESS = re.compile(r"^(?:init|demo|read|nothing|-|templates|config)|none.yaml|--help")
TIMELESS = re.compile(r"init|check|config|backup|read|nothing|-|templates")


def each_help() -> Iterator[str]:
    for line in {line.split(" ")[0] for line in COMMANDS} | {"serve", "web", "worker", "mail"}:
        if line.isalpha():
            yield line
    for group in ("search", "rate", "save", "rated", "saved", "merge", "split", "doubtful"):
        yield f"papers {group}"
    yield from (
        "topics try",
        "deliveries retry",
        "deliveries resolve",
        "suppressions add",
        "web login",
    )


# ── pages ───────────────────────────────────────────────────────────────────────────

# Where a walk over all links begins.
PAGES = (
    *("/", "/digests", "/papers", "/saved", "/saved.bib", "/topics", "/sources", "/deliveries"),
    *("/status", "/healthz", "/metrics", "/login", "/try", "/nothing", "/papers/99999", "/u/x"),
    *("/papers?q=agent&source=page", "/papers?q=(", "/papers?q=a*", "/papers.csv?q=agent"),
    *("/papers.bib?q=agent", "/papers.ris?q=agent", "/papers.json?q=agent", "/papers/7.bib"),
    *("/try?q=agent+AND+policy", "/try?q=titel:x", "/try?q=planning", "/deliveries?state=failed"),
    *("/api/v1/status", "/api/v1/papers?q=agent", "/api/v1/papers?q=(", "/api/v1/papers?limit=x"),
    *("/api/v1/papers/rated", "/api/v1/papers/saved", "/api/v1/explain/7", "/api/v1/explain/x"),
    *("/api/v1/topics/try?q=agent", "/api/v1/deliveries", "/api/v1/suppressions", "/api/v1/x"),
    *("/feed/ada.atom", "/feed/topic/planning.atom", "/v/x", "/r/x/7/up", "/slack/actions"),
    f"/digests/ada/{DAYS[0]}?as=mail",
    f"/digests/ada/{DAYS[0]}?as=text",
)
MAX_OF_KIND = 2
PROXY = {"Host": "papers.example.org"}
PERSONS = {
    "none": PROXY,
    "reader": PROXY | {"Remote-User": "ada@example.org"},
    "operator": PROXY | {"Remote-User": "ops@example.org"},
}
ROLES = PERSONS | {
    "program": PROXY | {"Authorization": f"Bearer {TOKEN}"},
    "elsewhere": {"Host": "evil.example"},
}


# ── faults ──────────────────────────────────────────────────────────────────────────

WRONG_VALUES: tuple[Any, ...] = (None, "", "x", -1, [], ["a", "a"], {"a": "b"}, "${PW}", "a\nb")


def faulty_texts(tests: Path) -> Iterator[str]:
    """Yield the texts of tests that may be configurations, joined where they are added."""
    for file in sorted(tests.glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        known = {
            node.targets[0].id: text
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if (text := _text(node.value, {})) is not None
        }
        for node in ast.walk(tree):
            text = _text(node, known) if isinstance(node, ast.expr) else None
            if text and re.search(r"\w:\s|\n", text) and not re.match(r"\d+: ", text):
                yield dedent(text)


def _text(node: ast.expr, known: dict[str, str]) -> str | None:
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.Name(name):
            return known.get(name)
        case ast.BinOp(left, ast.Add(), right):
            parts = _text(left, known), _text(right, known)
            return None if None in parts else f"{parts[0]}{parts[1]}"
        case ast.BinOp(left, ast.Mod(), ast.Constant(str(right))):
            text = _text(left, known)
            return text % right if text and text.count("%") == 1 else None
    return None


def faulty_settings(right: dict[str, Any]) -> Iterator[str]:
    """Yield configurations that differ from a valid one in the value or name of one setting."""

    def places(part: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        for name in part if isinstance(part, dict) else ():
            yield (*path, name)
            yield from places(part[name], (*path, name))

    for number, (*way, last) in enumerate(places(right)):
        for value in (WRONG_VALUES[number % len(WRONG_VALUES)], ...):
            wrong = copy.deepcopy(right)
            part = wrong
            for name in way:
                part = part[name]
            if value is ...:
                part[f"{last[:-1]}q"] = part.pop(last)
            else:
                part[last] = value
            changed = f"# {'.'.join((*way, last))}: {value!r}\n"
            yield changed + yaml.safe_dump(wrong, sort_keys=False, allow_unicode=True)
