"""What people paste from other search engines: refused with what to write, or doubted."""

from __future__ import annotations

import contextlib
import time

import pytest

from monitor.errors import QueryError
from monitor.match import TopicIndex, parse_query
from monitor.model import Paper
from tests.match.test_docs import CODE, tables

# As pasted, where the fault stands, and how its message begins.
REFUSED = [
    # PubMed
    ("cancer[ti]", 6, "[ti] is a field tag of PubMed"),
    ('"Neoplasms"[Mesh] AND smith j[au]', 11, "[Mesh] is a field"),
    ('"heart attack"[tiab:~3]', 14, "[tiab:~3] is"),
    ('cancer AND ("2020/01/01"[Date - Publication] : "3000"[Date - Publication])', 24,
     "[Date - Publication] is a field"),
    ("#1 AND #2", 0, "#1 is a line of a search history"),
    # Web of Science
    ("TS=(agent NEAR/5 robot)", 0, "TS= does not name a field"),
    ("AU=(Smith, J) AND PY=2020", 0, "AU= does not name"),
    ("agent NEAR/5 robot", 6, "NEAR/5 is not an operator"),
    ("wom?n", 3, "? is not a wildcard for one letter"),
    ('"wom?n health"', 4, "? is not a wildcard for one letter"),
    ("DE=(robots)", 0, "DE= does not name a field"),
    ('agent AND KW=("robot")', 10, "KW= does not name a field"),
    # Scopus
    ("TITLE-ABS-KEY ( agent )", 0, "TITLE-ABS-KEY(...) is syntax of Scopus"),
    ("agent AND PUBYEAR > 2020", 10, "PUBYEAR > 2020: a topic cannot"),
    ('agent AND LIMIT-TO(SUBJAREA,"COMP")', 10, "LIMIT-TO(...) is syntax of Scopus"),
    # Ovid, Embase
    ("agent adj3 robot", 6, "adj3 is not an operator"),
    ("(agent OR robot).ti,ab.", 16, ".ti,ab. is syntax of Ovid"),
    ("exp Neoplasms/", 0, "exp Neoplasms/ is syntax of Ovid"),
    ("agent:ti,ab,kw", 5, ":ti,ab,kw is syntax of Ovid or Embase"),
    ("(agent* OR robot):ti,ab", 17, ":ti,ab is syntax of Ovid or Embase"),
    ("(agent OR robot):ti policy", 16, ":ti is syntax of Ovid or Embase"),
    ("tumo#r", 4, "# is not a wildcard for one letter"),
    # ProQuest
    ("noft(agent) AND policy", 0, "noft(...) is syntax of Scopus or ProQuest"),
    ("ab(agent) AND ti(policy)", 0, "ab(...) is syntax of"),
    ('SU.EXACT("Agents")', 0, "SU.EXACT(...) is syntax of"),
    # arXiv
    ("ti:agent", 0, "there is no field ti:"),
    ("agent AND-NOT robot", 6, "AND-NOT is not an operator"),
    ("agent AND submittedDate:[202301010600 TO 202401010600]", 10, "submittedDate: a topic cannot"),
    ("category:cs.LG,cs.AI", 0, "category: takes one value"),
    ("author:bengio,lecun", 7, "bengio,lecun is searched for as the name of one person"),
    ("agent -Author:Li,Wei,Xi", 14, "Li,Wei,Xi is searched for as the name of one"),
    ("2 of agent", 0, "2 of must be followed by a list in parentheses"),
    ('robot (title:2 of "a b")', 13, "2 of must be followed by"),
    ("agent OR 3 of", 9, "3 of must be followed by"),
    ("arxiv:2301.00001", 0, "a topic looks for words, not"),
    ("10.1000/182", 0, "a topic looks for words, not"),
    # Google Scholar
    ("year:2024", 0, "there is no field year: dates are not searched"),
    ("agent -published:2024", 7, "there is no field published: dates are not searched"),
    ('+"language model" agent', 0, "“+” is not an operator"),
    ("site:arxiv.org agent", 0, "there is no field site:"),
    ("agent AROUND(3) robot", 6, "AROUND(3) is not an operator"),
    # regular expressions
    (r"\bagents?\b", 0, r"\bagents?\b is part of a regular expression"),
    ("(?i)llm[s]?", 0, "(?i) is part of a regular expression"),
    ("/agent/i", 0, "/agent/i is part of"),
    ("[Aa]gent", 0, "[Aa] is part of"),
    ("organi[sz]ation", 6, "[sz] is part of"),
    ("(agent|robot) policy", 0, "(agent|robot) is part of"),
    # other languages of programs, and keyboards
    ("agent || robot", 5, "|| is not an operator"),
    ("agent && robot", 5, "&& is not an operator"),
    ("agent !robot", 6, "! does not exclude"),
    ("agent AND/OR robot", 6, "AND/OR is not an operator"),
    ('title="agent"', 0, "title= does not name a field"),
    ("{agent OR robot} AND policy", 0, "only ( and ) group"),
    ("&quot;language model&quot;", 0, "&quot; comes from a web page"),
    ("agent%20robot", 5, "%20 comes from a web page"),
    ("（agent OR robot） policy", 0, "（agent OR robot） has"),
    ("＂language model＂", 0, "＂ has full-width"),
    ("title：agent", 0, "title： has full-width"),
    ("agent ＯＲ robot", 6, "ＯＲ has full-width"),
    ("agent －robot", 6, "－ has full-width"),
]  # fmt: skip
# As pasted, where the doubt stands, how its message begins, and what the hint has.
DOUBTED = [
    ("agent, llm, robot", 5, "“,” does not mean OR", "(agent OR llm OR robot)"),
    ("agent,llm,robot", 0, "agent,llm,robot is searched for as one", "(agent OR llm OR robot)"),
    ("agent，llm", 0, "agent，llm is searched for as one phrase", "(agent OR llm)"),
    ("agent|robot", 0, "agent|robot is searched for as one phrase", "(agent OR robot)"),
    ("agent&robot", 0, "agent&robot is searched for as one phrase", "agent AND robot"),
    ("agent & robot", 6, "“&” is read as AND", "write agent AND robot"),
    ("agent | robot", 6, "“|” does not mean OR", "write agent OR robot"),
    ("(agent policy) | robot", 15, "“|” does not mean OR", "write OR"),
    ("agent+robot", 0, "agent+robot is searched for as one phrase", "agent AND robot"),
    ("a.i.", 0, "a.i. finds only papers that write the dots", '(AI OR "a.i.")'),
    ("agent NEAR robot", 6, "“NEAR” is searched for as a word", '"agent robot"~15'),
    ("agent XOR robot", 6, "“XOR” is searched for as a word", "(a OR b) NOT (a b)"),
    ("agent and/or robot", 6, "“and/or” is searched for as a word", "OR"),
    ("agent not robot", 6, "“not” is searched for as a word", "NOT in capitals"),
    ("not agent policy", 0, "“not” is searched for as a word", "NOT in capitals"),
    ("agent And policy", 6, "“And” is searched for as a word", "AND in capitals"),
    ("'language model'", 0, "'language model' is searched for word by word", '"language model"'),
    ("‘language model’ agent", 0, "‘language model’ is searched", '"language model"'),
    ("「language model」", 0, "「language model」 is searched", '"language model"'),
    ("{language model}", 0, "{language model} is searched for word by word", '"language model"'),
    ("[llm agent]", 0, "[llm agent] is searched for word by word", '"llm agent"'),
    ("llm -robot +agent", 11, "“+” has no meaning here", "write agent"),
    ("title:language model", 0, "title: is only for language; model may", 'title:"language model"'),
    ("title: language model", 0, "title: is only for language", 'title:"language model"'),
    ("Title:language model", 0, "Title: is only for language", 'Title:"language model"'),
    ("author:Ada Lovelace", 0, "author: is only for Ada; Lovelace", 'author:"Ada Lovelace"'),
    ("author:Lovelace, A.", 0, "author: is only for Lovelace; A may", 'author:"Lovelace A"'),
    ('MH "Nursing Homes"', 0, "“MH” is searched for as a word", "title: for TI"),
    ("TI (agent OR robot)", 0, "“TI” is searched for as a word", "title: for TI"),
    ("category:cs.CL OR cs.AI", 18, "cs.AI is searched for in the title", "category:cs.AI"),
    ("cs.CLL", 0, "cs.CLL is not a category of arXiv", "category:cs.CL"),
    ("agent -category:q-bio.NCC", 16, "q-bio.NCC is not a category of arXiv", "category:q-bio.NC"),
    ("AIDS", 0, "AIDS also finds “aids”", "=AIDS"),
    ("CAR", 0, "CAR also finds “car”", "=CAR"),
    ("WHO", 0, "WHO also finds “who”", "=WHO"),
    ("ALL", 0, "ALL also finds “all”", "=ALL"),
    (".NET", 0, "NET also finds “net”", "=NET"),
    ("US", 0, "US also finds “us”", "=US"),
    ('HIV OR title:"AIDS"', 13, "AIDS also finds “aids”", "=AIDS"),
    ("cs.LG agent", 0, "cs.LG is searched for in the title", "category:cs.LG"),
    ("agents? robot", 6, "“?” is not a wildcard for one letter", "agents"),
    ("agent$ robot", 5, "“$” is not a wildcard for one letter", "agent"),
]  # fmt: skip
# What looks foreign to nobody, and is none.
OURS = (
    r'title:="agent"', "=RAG", r"$\beta$-VAE", r'Schr\"odinger', "C++", "C#", "AC/DC", "R&D",
    "AT&T", "F#", "issue#12", "su(2)", "Ti(III)", "TI", "AB testing",
    "input/output", "benzo[a]pyrene", "benzo[ghi]perylene", "[Fe]hydrogenase", "H&E",
    "category:cs.*", "category:(cs.* OR stat.*)", "Node.js", "3.5", "10,000", "e-mail", "don't",
    '"what is an agent?"', "source:arxiv", "agent (policy OR reward)", "LLM (agent OR policy)",
    r"\mathbb{R}^{2,3}", "1,2-dichloroethane", "N,N-dimethylformamide", "p<0.05", "near agent",
    'author:"Bengio, Y."', "author:Bengio,Y", "author:Hinton,GE", "author:Bengio,Y.-B.",
    "2 of (agent, policy, -robot)", "the same agent",
    "2 of (category:cs.*, agent, policy)", "agent AND policy", '"search and rescue"',
    "android oracle", "[Fe]hydrogenase agent", "Na+ channel", "title:agent AND reward", "LLM",
    "=AIDS", "HIV AIDS", "agent -AIDS", "aids", "venue:CAR", "category:math.ST", "cs.foo",
    "title:=agent reward", "category:cs.LG agent", "author:bengio agent", "log=(3)",
    "author:Bengio LLM", "author:Bengio AND Agents", "category:(cs.CL OR cs.AI) agent",
    "and agent policy",
    "phase 2 of trials", "2 of  (agent, policy)", '"2 of" agent', "2 office agent",
    "H$_2$O", "K$_3$C$_{60}$ film", "K-means", '"agent, llm, robot"',
)  # fmt: skip


@pytest.mark.parametrize(("pasted", "position", "message"), REFUSED)
def test_foreign_syntax_is_refused_with_what_to_write(
    pasted: str, position: int, message: str
) -> None:
    with pytest.raises(QueryError) as refused:
        parse_query(pasted)
    assert refused.value.message.startswith(message)
    assert refused.value.position == position
    assert refused.value.hint


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
    assert set(TopicIndex({text: text for text in texts}).errors) == set(texts)
    found = TopicIndex({"a": "ALL agents"}).match([Paper("All agents")])
    assert [match.topic for match in found] == ["a"]


@pytest.mark.parametrize(
    "pasted",
    [
        "cancer[ti] ",
        "a NEAR/5 b ",
        "a.*b ",
        "[",
        "[a ",
        "+a ",
        "title:a ",
        "(",
        "{a AND ",
        "'a ",
        "‚robot ",
        "ACE ",
        "ACE OR ",
        "a, ",
        "x" * 9,
    ],
)
def test_hostile_topics_take_linear_time(pasted: str) -> None:
    took = []
    for length in (2_000, 16_000):
        text = (pasted * length)[:length]
        began = time.process_time()
        for _ in range(3):
            with contextlib.suppress(QueryError):
                parse_query(text + "x")
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
        for topic in instead:
            parse_query(topic)
        if is_refused:
            with pytest.raises(QueryError):
                parse_query(pasted)
        else:
            [doubt] = parse_query(pasted).warnings
            assert not instead or instead[0] in doubt.hint
