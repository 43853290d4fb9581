"""What people paste from other search engines: refused with what to write, or doubted."""

from __future__ import annotations

import contextlib
import time

import pytest

from monitor.errors import QueryError
from monitor.match import TopicIndex, parse_query
from monitor.match.foreign_syntax import rewrite
from monitor.model import Paper
from tests.match.test_docs import CODE, tables

# As pasted, where the fault stands, how its message begins, and the topic to write instead.
REFUSED = [
    # PubMed
    ("cancer[ti]", 6, "[ti] is a field tag of PubMed", "title:cancer"),
    ("cancer [tiab]", 7, "[tiab] is a field tag of PubMed", "cancer"),
    ('"lung cancer"[Title/Abstract]', 13, "[Title/Abstract] is a field", '"lung cancer"'),
    ('"Neoplasms"[Mesh] AND smith j[au]', 11, "[Mesh] is a field", None),
    ('cancer[ti] AND "smith j"[au]', 6, "[ti] is", 'title:cancer AND author:"smith j"'),
    ("(lung OR skin)[ti]", 14, "[ti] is", "title:(lung OR skin)"),
    ('"heart attack"[tiab:~3]', 14, "[tiab:~3] is", '"heart attack"~3'),
    ("cancer AND 2020:2024[dp]", 20, "[dp] is PubMed syntax, which topics", "cancer"),
    (
        'cancer AND ("2020/01/01"[Date - Publication] : "3000"[Date - Publication])',
        24,
        "[Date - Publication] is PubMed syntax",
        "cancer",
    ),
    ("cancer[ti] AND English[lang]", 6, "[ti] is", "title:cancer"),
    ("#1 AND #2", 0, "#1 is a line of a search history", None),
    # Web of Science
    ("TS=(agent NEAR/5 robot)", 0, "TS= does not name a field", '("agent robot"~5)'),
    ('TI="language model"', 0, "TI= does not name a field", 'title:"language model"'),
    ("AU=(Smith, J) AND PY=2020", 0, "AU= does not name", 'author:"Smith, J"'),
    ("agent NEAR/5 robot", 6, "NEAR/5 is not an operator", '"agent robot"~5'),
    (
        "(agent OR bot) NEAR/3 plan*",
        15,
        "NEAR/3 is not",
        '("agent plan*"~3 OR "bot plan*"~3)',
    ),
    ("wom?n", 3, "? is not a wildcard for one letter", None),
    ("colo$r", 4, "$ is not a wildcard for one letter", None),
    ('"wom?n health"', 4, "? is not a wildcard for one letter", None),
    # Scopus
    ("TITLE-ABS-KEY(agent W/5 robot)", 0, "TITLE-ABS-KEY(...) is Scopus", '("agent robot"~5)'),
    ("TITLE-ABS-KEY ( agent )", 0, "TITLE-ABS-KEY(...) is Scopus", "( agent )"),
    ("TITLE(agent) AND AUTH(smith)", 0, "TITLE(...) is", 'title:(agent) AND author:"smith"'),
    ("agent PRE/3 robot", 6, "PRE/3 is not an operator", '"agent robot"~3'),
    ("agent AND PUBYEAR > 2020", 10, "PUBYEAR > 2020: a topic cannot", "agent"),
    ('agent AND LIMIT-TO(SUBJAREA,"COMP")', 10, "LIMIT-TO(...) is Scopus", "agent"),
    # Ovid, Embase
    ("agent adj3 robot", 6, "adj3 is not an operator", '"agent robot"~3'),
    ("(agent OR robot).ti,ab.", 16, ".ti,ab. is Ovid syntax", "(agent OR robot)"),
    ("exp Neoplasms/", 0, "exp Neoplasms/ is a subject heading", '"Neoplasms"'),
    ("agent:ti,ab,kw", 5, ":ti,ab,kw is Embase syntax", "agent"),
    # arXiv
    ("ti:agent", 0, "there is no field ti:", "title:agent"),
    ('au:"Y. Bengio"', 0, "there is no field au:", 'author:"Y. Bengio"'),
    ("abs:agent ANDNOT cat:cs.RO", 0, "there is no field", "abstract:agent NOT category:cs.RO"),
    ("all:agent", 0, "there is no field all:", "agent"),
    ("agent ANDNOT robot", 6, "ANDNOT is not an operator", "agent NOT robot"),
    ("agent AND-NOT robot", 6, "AND-NOT is not an operator", "agent NOT robot"),
    (
        "agent AND submittedDate:[202301010600 TO 202401010600]",
        10,
        "submittedDate: a topic cannot",
        "agent",
    ),
    ("category:cs.LG,cs.AI", 0, "category: takes one value", "(category:cs.LG OR category:cs.AI)"),
    ("arxiv:2301.00001", 0, "a topic looks for words, not", None),
    ("10.1000/182", 0, "a topic looks for words, not", None),
    # Google Scholar
    ("intitle:agent", 0, "there is no field intitle:", "title:agent"),
    ("allintitle: agent policy", 0, "there is no field allintitle:", "title:(agent policy)"),
    ("site:arxiv.org agent", 0, "there is no field site:", "agent"),
    ("agent AROUND(3) robot", 6, "AROUND(3) is not an operator", '"agent robot"~3'),
    # regular expressions
    (r"\bagents?\b", 0, r"\bagents?\b is part of a regular expression", "agent"),
    ("agent.*robot", 5, ".* is part of a regular expression", "agent robot"),
    (r"(?i)llm[s]?", 0, "(?i) is part of a regular expression", None),
    (r"(?i)reinforc\w*", 0, "(?i) is part of a regular expression", "reinforc*"),
    ("/agent/i", 0, "/agent/i is part of", "agent"),
    ("[Aa]gent", 0, "[Aa] is part of", "agent"),
    ("organi[sz]ation", 6, "[sz] is part of", "(organisation OR organization)"),
    ("(agent|robot) policy", 0, "(agent|robot) is part of", "(agent OR robot) policy"),
    # other languages of programs, and keyboards
    ("agent || robot", 5, "|| is not an operator", "agent OR robot"),
    ("agent && robot", 5, "&& is not an operator", "agent AND robot"),
    ("agent !robot", 6, "! does not exclude", "agent -robot"),
    ("agent AND/OR robot", 6, "AND/OR is not an operator", "agent OR robot"),
    ('title = "agent"', 0, "title = does not name a field", 'title:"agent"'),
    ('title="agent"', 0, "title= does not name a field", 'title:"agent"'),
    ("{agent OR robot} AND policy", 0, "only ( and ) group", "(agent OR robot) AND policy"),
    ("&quot;language model&quot;", 0, "&quot; is HTML", '"language model"'),
    ("agent%20robot", 5, "%20 comes from a web address", "agent robot"),
    ("（agent OR robot） policy", 0, "（agent OR robot） has", "(agent OR robot) policy"),
    ("＂language model＂", 0, "＂ has full-width", '"language model"'),
    ("title：agent", 0, "title： has full-width", "title:agent"),
    ("agent ＯＲ robot", 6, "ＯＲ has full-width", "agent OR robot"),
    ("agent －robot", 6, "－ has full-width", "agent -robot"),
]  # fmt: skip
DOUBTED = [
    ("agent, llm, robot", 5, "“,” does not mean OR", "(agent OR llm OR robot)"),
    ("agent; llm", 5, "“;” does not mean OR", "(agent OR llm)"),
    ("agent,llm,robot", 0, "agent,llm,robot is looked for as one", "(agent OR llm OR robot)"),
    ("agent，llm", 0, "agent，llm is looked for as one phrase", "(agent OR llm)"),
    ("agent|robot", 0, "agent|robot is looked for as one phrase", "(agent OR robot)"),
    ("agent&robot", 0, "agent&robot is looked for as one phrase", "agent AND robot"),
    ("agent & robot", 6, "“&” is read as AND", "write agent AND robot"),
    ("agent | robot", 6, "“|” does not mean OR", "write agent OR robot"),
    ("(agent policy) | robot", 15, "“|” does not mean OR", "write OR"),
    ("agent+robot", 0, "agent+robot is looked for as one phrase", "agent AND robot"),
    ("a.i.", 0, "a.i. finds only papers that write the dots", '(AI OR "a.i.")'),
    ("agent NEAR robot", 6, "'NEAR' is looked for as a word", '"agent robot"~15'),
    ("agent SAME robot", 6, "'SAME' is looked for as a word", '"agent robot"~15'),
    ("agent XOR robot", 6, "'XOR' is looked for as a word", "(a OR b) NOT (a b)"),
    ("agent UND robot", 6, "'UND' is looked for as a word", "AND"),
    ("agent and/or robot", 6, "'and/or' is looked for as a word", "OR"),
    ("agent not robot", 6, "'not' is looked for as a word", "NOT"),
    ("'language model'", 0, "'language model' is looked for word by word", '"language model"'),
    ("‘language model’ agent", 0, "‘language model’ is looked", '"language model"'),
    ("「language model」", 0, "「language model」 is looked", '"language model"'),
    ("{language model}", 0, "{language model} is looked for word by word", '"language model"'),
    ("cs.LG agent", 0, "cs.LG is looked for in the title", "category:cs.LG"),
    ("agents? robot", 6, "“?” is not a wildcard for one letter", "agents"),
    ("agent$ robot", 5, "“$” is not a wildcard for one letter", "agent"),
]  # fmt: skip
# What looks foreign to nobody, and is none.
OURS = (
    r'title:="agent"', "=RAG", r"$\beta$-VAE", r'Schr\"odinger', "C++", "C#", "AC/DC", "R&D",
    "AT&T", "input/output", "benzo[a]pyrene", "benzo[ghi]perylene", "[Fe]hydrogenase", "H&E",
    "category:cs.*", "category:(cs.* OR stat.*)", "Node.js", "3.5", "10,000", "e-mail", "don't",
    '"what is an agent?"', "source:arxiv", "agent (policy OR reward)", "LLM (agent OR policy)",
    r"\mathbb{R}^{2,3}", "1,2-dichloroethane", "N,N-dimethylformamide", "p<0.05", "near agent",
    'author:"Bengio, Y."', "author:bengio,yoshua", "2 of (agent, policy, reward)", "the same agent",
    "H$_2$O", "K$_3$C$_{60}$ film", "K-means", '"agent, llm, robot"',
)  # fmt: skip


@pytest.mark.parametrize(("pasted", "position", "message", "instead"), REFUSED)
def test_foreign_syntax_is_refused_with_what_to_write(
    pasted: str, position: int, message: str, instead: str | None
) -> None:
    with pytest.raises(QueryError) as refused:
        parse_query(pasted)
    assert refused.value.message.startswith(message)
    assert refused.value.position == position
    assert refused.value.hint
    if instead is not None:
        assert refused.value.hint == f"write {instead}"
        assert parse_query(instead).warnings == ()


@pytest.mark.parametrize("pasted", ["(?i)llm[s]?", r"\bllm[s]?\b", "(?:llm[sz])", "/a{2,3}b?c/"])
def test_a_hint_has_nothing_of_a_regular_expression_in_it(pasted: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse_query(pasted)
    assert not set(refused.value.hint) & set("[]?{}\\")


@pytest.mark.parametrize(("pasted", "position", "message", "instead"), DOUBTED)
def test_what_might_be_meant_is_doubted(
    pasted: str, position: int, message: str, instead: str
) -> None:
    [doubt] = parse_query(pasted).warnings
    assert doubt.message.startswith(message)
    assert (doubt.position, instead in doubt.hint) == (position, True)


@pytest.mark.parametrize("topic", OURS)
def test_what_is_ours_is_neither_refused_nor_doubted(topic: str) -> None:
    assert parse_query(topic).warnings == ()


@pytest.mark.parametrize("sign", ["&", "|"])
def test_a_lone_sign_means_and_to_parser_and_index(sign: str) -> None:
    topic = f"agent {sign} robot"
    assert parse_query(topic).root == parse_query("agent   robot").root
    found = TopicIndex({"a": topic}).match([Paper("An agent"), Paper("A robot and its agent")])
    assert [match.position for match in found] == [1]
    for lonely in (f"agent {sign}", f"{sign} agent", f"agent {sign} OR robot"):
        with pytest.raises(QueryError, match="there is no word"):
            parse_query(lonely)


def test_what_is_foreign_alone_may_be_ours_beside_other_words() -> None:
    """The index reads words one by one: it takes no operator for a word."""
    texts = ["agent ANDNOT robot", "TITLE (agent)", "agent adj3 robot", '"agent adj3 robot"']
    index = TopicIndex(dict.fromkeys([]) | {text: text for text in texts})
    assert set(index.errors) == set(texts)
    found = TopicIndex({"a": "ALL agents"}).match([Paper("All agents")])
    assert [match.topic for match in found] == ["a"]


@pytest.mark.parametrize(
    "pasted", ["cancer[ti] ", "a NEAR/5 b ", "a.*b ", "[", "(", "{a AND ", "'a ", "a, ", "x" * 9]
)
def test_hostile_topics_take_linear_time(pasted: str) -> None:
    took = []
    for length in (2_000, 16_000):
        text = (pasted * length)[:length]
        began = time.process_time()
        for _ in range(3):
            rewrite(text)
            with contextlib.suppress(QueryError):
                parse_query(text)
        took.append(time.process_time() - began)
    assert took[1] < 8 * 5 * max(took[0], 0.005)


def test_the_tables_of_the_page_are_what_the_parser_says() -> None:
    refused = [(row, True) for row in tables("| refused | write |")]
    doubted = [(row, False) for row in tables("| accepted with a warning | write |")]
    assert len(refused) > 18
    assert len(doubted) > 6
    for (pasted_cell, write), is_refused in (*refused, *doubted):
        pasted = CODE.findall(pasted_cell.replace("\\|", "|"))[0]
        instead = CODE.findall(write.replace("\\|", "|"))
        for one in instead:
            parse_query(one)
        if is_refused:
            with pytest.raises(QueryError) as fault:
                parse_query(pasted)
            hint = fault.value.hint
        else:
            [doubt] = parse_query(pasted).warnings
            hint = doubt.hint
        assert not instead or instead[0] in hint or "its forms" in hint
