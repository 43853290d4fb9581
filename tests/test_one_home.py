"""Facts that stand once in the package: each test finds a second copy."""

from __future__ import annotations

import ast
import re
from copy import copy
from pathlib import Path

import pytest

from monitor.digest.delivery_words import WORDS
from monitor.identity.notices import TITLES
from monitor.identity.word_rarity import rarity
from monitor.match.meaning.idf import STOP_WORDS
from monitor.model import CHANGING_NOTICES, NOTICE_TYPES, REPORT, DeliveryState
from monitor.model.delivery import OPERATOR, TEST
from monitor.resources import resource
from monitor.sources.fields.publication_types import NOTICES, type_of
from monitor.text import title_lengths
from monitor.text.addresses import find_addresses, is_shared_host
from monitor.text.function_words import FUNCTION_WORDS, LEADING_WORDS
from monitor.text.registrants import REGISTRANTS, RegistrantKind
from monitor.web.access import Role, Viewer
from monitor.web.application import ROUTES
from monitor.web.routes import navigation
from tests.module_texts import PACKAGE, modules_where, texts_of, tree_of

# ── words that say nothing ──────────────────────────────────────────────────────────


def lists_function_words(path: Path) -> bool:
    """Whether a module has a list with the commonest four, in a text or as single texts."""
    commonest = {"the", "of", "and", "for"}
    lists = [text.split() for text in texts_of(path) if re.fullmatch(r"[A-Za-z\s]+", text)]
    lists += [
        [str(each.value) for each in node.elts if isinstance(each, ast.Constant)]
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Set | ast.Tuple | ast.List)
    ]
    return any(commonest <= set(words) or {"a", "an", "the"} <= set(words) for words in lists)


def test_each_list_of_words_that_say_nothing_begins_with_the_same_or_says_why_not():
    own_lists = {
        "identity/venues.py": "Not `FUNCTION_WORDS`",
        "match/language/sentences.py": "Not `FUNCTION_WORDS`",
        "text/symbols.py": "Not `FUNCTION_WORDS`",
        "text/person_names.py": "Not `FUNCTION_WORDS`",
    }
    others = {"text/function_words.py", *own_lists}
    assert modules_where(lists_function_words, but=others) == set()
    for name, reason in own_lists.items():
        assert reason in (PACKAGE / name).read_text("utf-8"), name


def test_every_function_word_is_common_in_titles_and_says_nothing_in_abstracts():
    assert LEADING_WORDS < FUNCTION_WORDS <= STOP_WORDS
    assert {rarity(word) for word in FUNCTION_WORDS} == {0.2}


# ── lengths of titles ───────────────────────────────────────────────────────────────


def cuts_a_title_itself(path: Path) -> bool:
    """Whether a module cuts a title or names a length of titles, but not by `title_lengths`."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            cut = ast.unparse(node.value)
            bound = node.slice.upper
            is_title = re.search(r"\btitle\)?$", cut) and node.slice.lower is None
            is_length = isinstance(bound, ast.Constant) or (
                isinstance(bound, ast.Name) and bound.id.isupper()
            )
            if is_title and is_length and ast.unparse(bound) != "MAX_TEXT_LENGTH":
                return True
    named = (node.id for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name))
    return any(
        re.search(r"(?:MAX|LONG(?:EST)?)_TITLE|TITLE_(?:LENGTH|LIMIT)", name) for name in named
    )


def test_each_length_of_titles_is_in_one_table():
    others = {
        "sources/feed/publisher_cards.py",  # the issue that a publisher writes before a title
        "digest/links.py",  # a query of a search engine
    }
    assert modules_where(cuts_a_title_itself, but=others) == set()


def test_templates_cut_titles_where_the_table_says():
    templates = "".join(each.read_text("utf-8") for each in resource("templates").rglob("*.j2"))
    cuts = set(map(int, re.findall(r"title\|truncate\((\d+)", templates)))
    assert cuts == {title_lengths.IN_LIST, title_lengths.IN_PREVIEW}


def test_lengths_of_titles_differ_as_they_mean_different_things():
    lengths = [value for name, value in vars(title_lengths).items() if name.isupper()]
    assert sorted(set(lengths), reverse=True) == lengths


# ── types of notices ────────────────────────────────────────────────────────────────


def lists_notice_types(path: Path) -> bool:
    """Whether a module has a table by types of notices, or a list of them."""
    marks = {"RETRACTION", "CONCERN", "CORRECTION", "REPORT", "COMMENT"}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Dict):
            parts = node.keys
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = node.elts
        else:
            continue
        names = {ast.unparse(part).rpartition(".")[2] for part in parts if part}
        values = {part.value for part in parts if isinstance(part, ast.Constant)}
        if len(marks & names) > 1 or len({each.mark for each in NOTICE_TYPES} & values) > 1:
            return True
    return False


def test_the_types_of_notices_are_one_table():
    # The words of sources and the titles of notices without a type are tables by type.
    words = {"sources/fields/publication_types.py", "identity/notices.py"}
    assert modules_where(lists_notice_types, but=words) == set()
    by_title = set(TITLES)
    assert by_title < set(CHANGING_NOTICES) < {each.mark for each in NOTICE_TYPES}
    from_sources = {type_of([each.mark]) for each in NOTICE_TYPES} & set(NOTICES)
    assert from_sources == {each.mark for each in NOTICE_TYPES} - {REPORT}


# ── services that register DOIs ─────────────────────────────────────────────────────

DRAFT_HOSTS = sorted(
    {host for row in REGISTRANTS if row.kind is RegistrantKind.PREPRINTS for host in row.hosts}
)
DATA_KINDS = (RegistrantKind.REPOSITORY, RegistrantKind.DATA)


@pytest.mark.parametrize("host", DRAFT_HOSTS)
def test_a_preprint_server_is_shared_and_never_the_page_of_a_paper(host: str):
    assert is_shared_host(host) and is_shared_host(f"www.{host}")
    assert find_addresses(f"Our code is available at https://{host}/abs/12345.") == ()


@pytest.mark.parametrize("row", [row for row in REGISTRANTS if row.kind in DATA_KINDS])
def test_a_repository_has_data(row):
    for host in row.hosts:
        [address] = find_addresses(f"Our data are available at https://{host}/records/12345.")
        assert address.kind == "data"


def names_hosts(path: Path) -> bool:
    """Whether a text names two services in one pattern, or a list their hosts."""
    labels = {host.split(".")[-2] for row in REGISTRANTS for host in row.hosts}
    patterns = (re.findall(r"\w+", text) for text in texts_of(path) if "|" in text)
    if any(len(labels.intersection(words)) > 1 for words in patterns):
        return True
    hosts = {host for row in REGISTRANTS for host in row.hosts}
    return len(hosts.intersection(texts_of(path))) > 1


def test_no_module_has_a_second_list_of_their_hosts():
    assert modules_where(names_hosts, but={"text/registrants.py"}) == set()


# ── this machine ────────────────────────────────────────────────────────────────────


def tells_loopback(path: Path) -> bool:
    asks = any(
        isinstance(node, ast.Attribute) and node.attr == "is_loopback"
        for node in ast.walk(tree_of(path))
    )
    return asks or "127.0.0.0/8" in texts_of(path)


def test_one_place_says_which_hosts_are_this_machine():
    # The second imports nothing of the package, so that who may see what can be read in one file.
    assert modules_where(tells_loopback, but={"setting_types.py", "web/access.py"}) == set()


# ── states of deliveries ────────────────────────────────────────────────────────────


def words_states(path: Path) -> bool:
    """Whether a module has a table of words by state, or two phrases of the one table."""
    tables = [
        [ast.unparse(key) for key in node.keys if key]
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Dict) and any(isinstance(v, ast.Constant) for v in node.values)
    ]
    by_state = any(sum("DeliveryState." in key for key in table) > 1 for table in tables)
    ours = {words for row in WORDS.values() for words in (row.to_reader, row.in_status)}
    sentences = [words for words in ours if words.count(" ") > 3]
    has_sentence = any(words in text for words in sentences for text in texts_of(path))
    phrases = {text for text in texts_of(path) if text in ours - {"sent"}}
    return by_state or has_sentence or len(phrases) > 1


def test_each_state_of_a_delivery_has_its_words_in_one_table():
    assert list(WORDS) == list(DeliveryState)
    assert modules_where(words_states, but={"digest/delivery_words.py"}) == set()
    templates = resource("templates")
    pages = [page.read_text("utf-8") for page in templates.glob("pages/*.j2")]
    ours = {row.to_reader for row in WORDS.values()} - {"sent", "waiting", "not sent"}
    assert pages and not [words for words in ours for page in pages if f'"{words}' in page]


# ── digests of no subscription ──────────────────────────────────────────────────────


def names_notices_or_tests(path: Path) -> bool:
    beginnings = (OPERATOR, TEST.strip())
    asks = re.search(r"\.startswith\(.@", path.read_text("utf-8"))
    return bool(asks) or any(text.startswith(beginnings) for text in texts_of(path))


def test_one_place_names_the_digests_of_no_subscription():
    assert modules_where(names_notices_or_tests, but={"model/delivery.py"}) == set()
    templates = [each.read_text("utf-8") for each in resource("templates").rglob("*.j2")]
    assert not [text for text in templates if re.search(r"[\"']@(?:operator|test|[\"'])", text)]


# ── hints of commands and of pages ──────────────────────────────────────────────────


# Errors that pages may show, and the rules by which queries are refused.
SHOWN_ON_PAGES = ("UsageError", "UnknownPaperError", "QueryError", "Rule")
# Where pages show the message alone, or never come.
WITHOUT_HINT_ON_PAGES = {
    "commands/query_bounds.py:too_many_papers",
    "commands/ratings.py:_find_targets",
    "commands/ratings.py:_refuse_several",
    "commands/web_login.py:login_address",
}


def errors_that_name_commands(path: Path) -> set[str]:
    """Return the functions of a module whose errors name a command, and give no remedy.

    A hint may be in the call, or in a name of the function or the module.
    """
    module = tree_of(path)
    constants = _texts_by_name([each for each in module.body if isinstance(each, ast.Assign)])
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    found = set()
    for scope in [*functions, module]:
        texts = constants | _texts_by_name(scope.body)
        for node in ast.walk(scope):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func) in SHOWN_ON_PAGES):
                continue
            if scope is module and any(node in set(ast.walk(each)) for each in functions):
                continue
            parts = [*node.args[1:], *(word.value for word in node.keywords)]
            written = " ".join(map(ast.unparse, parts))
            for _ in range(2):  # a name in a text that a name has
                named = re.findall(r"[A-Za-z_]\w*", written)
                written = " ".join([written, *(texts[name] for name in named if name in texts)])
            if re.search(r"`|--|paper-monitor ", written) and "Remedy." not in written:
                name = getattr(scope, "name", "")
                found.add(f"{path.relative_to(PACKAGE)}:{name}")
    return found


def _texts_by_name(body: list[ast.stmt]) -> dict[str, str]:
    """Return what the names are assigned that statements, or those within them, assign."""
    texts: dict[str, str] = {}
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            texts[name] = f"{texts.get(name, '')} {ast.unparse(node.value)}"
    return texts


def test_a_hint_that_names_a_command_has_a_remedy_by_which_pages_say_it():
    modules = [
        path
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("cli", "service")
    ]
    named = {where for path in modules for where in errors_that_name_commands(path)}
    assert named == WITHOUT_HINT_ON_PAGES


# ── roles of pages ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("role", list(Role))
def test_the_navigation_leads_to_what_the_routes_open_to_a_role(role: Role):
    roles = {route.path: route.role for route in ROUTES if "GET" in (route.methods or ())}
    most = navigation(ROUTES, Viewer(Role.OPERATOR, "ada@example.org"))
    led_to = navigation(ROUTES, Viewer(role, "ada@example.org"))
    assert list(led_to) == [path for path in most if roles[path] <= role]
    changed = [copy(route) for route in ROUTES]
    for route in changed:
        route.role = Role.OPERATOR
    assert bool(navigation(changed, Viewer(role, "ada@example.org"))) == (role is Role.OPERATOR)


def test_who_has_no_address_has_no_digests_of_their_own():
    assert "/me" not in navigation(ROUTES, Viewer(Role.OPERATOR))


def test_the_template_of_all_pages_has_no_list_of_pages():
    layout = (resource("templates") / "pages" / "layout.html.j2").read_text("utf-8")
    pages = navigation(ROUTES, Viewer(Role.OPERATOR, "ada@example.org"))
    assert not [path for path in pages if f'"{path}"' in layout or f'"{path[1:]}"' in layout]
    assert "is_operator" not in layout
