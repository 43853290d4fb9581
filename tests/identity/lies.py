"""Made papers, as stores have them, and records of services that are of other works.

Each lie is a paper, an answer in which no record may fill it, and the records that other services
answered before. Texts are made of few words and forms, so that strangers have much in common.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from monitor.model import COMMENT, CORRECTION, RETRACTION, Paper

# fmt: off
SUBJECTS = (
    "agents", "planners", "robots", "drones", "transformers", "retrievers", "samplers", "solvers",
    "embeddings", "policies", "tutors", "parsers", "simulators", "caches", "compilers", "sensors",
)
KINDS = (
    "hierarchical", "lazy", "frugal", "calibrated", "recurrent", "symbolic", "sparse", "federated",
    "cooperative", "curious", "modular", "equivariant", "quantized", "private", "causal", "tiny",
)
PLACES = (
    "kitchens", "hospitals", "warehouses", "spreadsheets", "browsers", "theorems", "classrooms",
    "telescopes", "vineyards", "glaciers", "auctions", "satellites", "proteins", "bridges",
    "novels", "harbours",
)
AIMS = ("navigation", "scheduling", "translation", "forecasting", "verification", "grasping",
        "summarization", "exploration", "debugging", "negotiation", "dialogue", "compression")
COMMON_TITLES = (
    "Deep Reinforcement Learning", "Attention", "Neural Networks", "Machine Learning for Images",
    "Large Language Models", "Multi-Agent Learning", "Learning to Learn", "Graph Neural Networks",
)
COLUMNS = ("Introduction", "Editorial", "Guest Editorial", "Preface", "Book Review", "Foreword")
GIVEN = ("Ada", "Alan", "Grace", "Kwame", "Mei", "Noor", "Ivan", "Sofía", "Lars", "Yuki", "Omar",
         "Elif", "Rosa", "Tomás", "Ingrid", "Pavel")
RARE_FAMILIES = ("Lovelace", "Turing", "Hopper", "Nkrumah", "Abara", "Brandão", "Eklund", "Okafor",
                 "Quist", "Zabolotny", "Yamazaki", "Dijkstra", "Fitzgerald", "Arslan", "Pomorska")
COMMON_FAMILIES = ("Wang", "Zhang", "Kim", "Nguyen", "Singh", "Smith", "Chen", "Garcia")
GROUPS = ("The Planning Team", "ATLAS Collaboration", "Open Robots Consortium", "Acme AI")
# fmt: on
FORMS = (
    "In this paper, we propose a novel {kind} approach to {aim} for {subject} in {place}.",
    "Our method outperforms the state of the art on {n} benchmarks of {aim}.",
    "Extensive experiments in {place} demonstrate that {kind} {subject} improve {aim} by {n} %.",
    "However, existing {subject} rely on {kind} models, which limits {aim} in {place}.",
    "To address this problem, we train {subject} with {n} examples from {place}.",
    "Our code and data are publicly available, together with {n} tasks for {kind} {subject}.",
    "Recent advances in {subject} have enabled {kind} {aim} without access to {place}.",
    "The results suggest that {aim} in {place} remains a challenging problem.",
    "Despite their success, {kind} {subject} are known to fail at {aim}.",
    "This work studies how {aim} emerges when {subject} are trained on data from {place}.",
    "Each of the {n} tasks asks {subject} to plan, act and report in {place}.",
    "A simple baseline of {kind} {subject} closes most of the gap to people.",
    "Finally, we discuss limitations of {aim} and directions for future research.",
    "We hope that this resource helps others to build {kind} {subject}.",
    "Theoretical analysis shows that {kind} {aim} converges after {n} steps.",
    "Human studies with {n} participants from {place} confirm these findings.",
)
SPANISH = (
    "En este trabajo presentamos un nuevo método para estudiar los agentes y su conducta en mundos "
    "abiertos, y mostramos que mejora los resultados anteriores en tres colecciones de pruebas."
)
RUSSIAN = (
    "В этой работе мы предлагаем новый метод обучения агентов в открытых мирах и показываем, что "
    "он превосходит известные методы на трёх наборах задач и требует вдвое меньше данных для этого."
)


class Lie(NamedTuple):
    paper: Paper
    answer: list[Paper]
    others: Mapping[str, Paper] = {}


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes papers and lies of one seed."""

    dice: random.Random

    # ── works ───────────────────────────────────────────────────────────────────────

    def title(self) -> str:
        one, other = self.dice.sample(KINDS, 2)
        subject, aim, place = (self.dice.choice(words) for words in (SUBJECTS, AIMS, PLACES))
        name = self.dice.choice(("", f"{subject[:4].title()}{place[:3].title()}: "))
        return f"{name}{one.title()} {subject.title()} for {other.title()} {aim.title()} in {place}"

    def abstract(self, forms: int = 8) -> str:
        return " ".join(
            form.format(
                kind=self.dice.choice(KINDS),
                subject=self.dice.choice(SUBJECTS),
                aim=self.dice.choice(AIMS),
                place=self.dice.choice(PLACES),
                n=self.dice.randint(2, 999),
            )
            for form in self.dice.sample(FORMS, forms)
        )

    def person(self) -> str:
        return f"{self.dice.choice(GIVEN)} {self.dice.choice(RARE_FAMILIES)}"

    def people(self, but: tuple[str, ...] = ()) -> tuple[str, ...]:
        families = {name.split()[-1] for name in but}
        names = (self.person() for _ in range(40))
        others = dict.fromkeys(name for name in names if name.split()[-1] not in families)
        return tuple(others)[: self.dice.randint(1, 5)]

    def arxiv(self) -> str:
        year = self.dice.randint(15, 25)
        month = self.dice.randint(1, 12)
        return f"{year}{month:02}.{self.dice.randint(0, 99_999):05}"

    def doi(self) -> str:
        return f"10.{self.dice.randint(1000, 9999)}/{self.dice.randint(1, 10**9)}"

    def keys(self) -> dict[str, str]:
        keys = {"doi": self.doi()}
        if self.dice.random() < 0.6:
            keys["arxiv"] = self.arxiv()
        if self.dice.random() < 0.2:
            keys["pmid"] = str(self.dice.randint(10**6, 10**8))
        return keys

    def work(self, **fields: object) -> Paper:
        """Return a whole record of a new work."""
        year = self.dice.randint(2015, 2025)
        work = Paper(self.title(), self.abstract(), self.people(), year=year, keys=self.keys())
        return replace(work, **fields)

    def stored(self, work: Paper) -> Paper:
        """Return what a store has of a work, often its title and the beginning of its abstract."""
        words = self.dice.choice((0, 15, 30, 30, 60, 200))
        abstract = " ".join(work.abstract.split()[:words])
        if words and self.dice.random() < 0.3:
            abstract += "…"
        authors = work.authors if self.dice.random() < 0.4 else ()
        year = work.year if self.dice.random() < 0.3 else None
        return Paper(work.title, abstract, authors, year=year)

    def near(self, work: Paper) -> Paper:
        """Return a record of a work with one word of the title exchanged, if it is a made one."""
        words = work.title.split()
        at = [n for n, word in enumerate(words) if word.lower() in KINDS + SUBJECTS + PLACES]
        if not at:
            return replace(work, title=self.title())
        n = self.dice.choice(at)
        group = next(group for group in (KINDS, SUBJECTS, PLACES) if words[n].lower() in group)
        words[n] = self.dice.choice([word for word in group if word != words[n].lower()])
        return replace(work, title=" ".join(words), keys=self.keys())

    def other(self, work: Paper, **fields: object) -> Paper:
        """Return a record of another work of other people under the title of a work."""
        people = self.people(but=work.authors)
        return replace(self.work(title=work.title, authors=people), **fields)

    def half(self, record: Paper) -> Paper:
        """Return a record, perhaps without some of its fields."""
        empty = {"abstract": "", "authors": (), "year": None}
        gone = {name: value for name, value in empty.items() if self.dice.random() < 0.3}
        return replace(record, **gone)

    def beside(self, work: Paper, *lies: Paper) -> list[Paper]:
        """Return lies among other records that a search for the work finds."""
        answer = list(lies)
        if self.dice.random() < 0.3:
            answer.append(self.work())
        if self.dice.random() < 0.3:
            answer.append(self.near(self.work(title=work.title)))
        self.dice.shuffle(answer)
        return answer

    def lie(self, kind: str) -> Lie:
        work = self.work()
        return KINDS_OF_LIES[kind](self, work, self.stored(work))


Make = Callable[[Maker, Paper, Paper], Lie]
KINDS_OF_LIES: dict[str, Make] = {}


def lie(make: Make) -> Make:
    KINDS_OF_LIES[make.__name__] = make
    return make


# ── other titles ────────────────────────────────────────────────────────────────────


@lie
def one_exchanged_word(maker: Maker, work: Paper, paper: Paper) -> Lie:
    near = maker.near(work)
    if maker.dice.random() < 0.5:
        near = replace(near, abstract=maker.abstract())
    return Lie(paper, maker.beside(work, near))


@lie
def another_part(maker: Maker, work: Paper, paper: Paper) -> Lie:
    end = maker.dice.choice((", Part II", " II", ": Part 2", " (Part Two)", " 2", ", Vol. 2"))
    part = replace(work, title=work.title + end, keys=maker.keys())
    if maker.dice.random() < 0.5:
        return Lie(paper, maker.beside(work, part))
    return Lie(replace(paper, title=part.title), maker.beside(work, work))


@lie
def survey_that_cites_it(maker: Maker, work: Paper, paper: Paper) -> Lie:
    text = f"We survey {work.title} and related work. {maker.abstract(3)}"
    survey = maker.other(work, abstract=text)
    title = maker.dice.choice(("A Survey of {}", "{}: A Survey", "Beyond {}", "{} Revisited"))
    if maker.dice.random() < 0.6:
        return Lie(paper, maker.beside(work, replace(survey, title=title.format(work.title))))
    authors = maker.dice.choice((work.authors, survey.authors))
    return Lie(paper, maker.beside(work, replace(survey, type="review", authors=authors)))


@lie
def same_abstract_under_another_title(maker: Maker, work: Paper, paper: Paper) -> Lie:
    authors = maker.dice.choice((work.authors, maker.people(work.authors), ()))
    other = replace(work, title=maker.title(), authors=authors, keys=maker.keys())
    return Lie(paper, maker.beside(work, other))


@lie
def no_title(maker: Maker, work: Paper, paper: Paper) -> Lie:
    title = maker.dice.choice(("", "Untitled", "N/A", "[Not Available]", "...", "\u200b"))
    record = replace(work, title=title)
    if maker.dice.random() < 0.3:
        paper = replace(paper, title=title)
    return Lie(paper, maker.beside(work, record))


# ── publications about it, or made of it ────────────────────────────────────────────


@lie
def notice_about_it(maker: Maker, work: Paper, paper: Paper) -> Lie:
    begins = maker.dice.choice(("Erratum: ", "Retraction: ", "Comment on ", "Correction to: ", ""))
    kind = maker.dice.choice((CORRECTION, RETRACTION, COMMENT))
    about = {"doi": work.keys["doi"]} if begins == "" else {}
    title = f"{begins}{work.title}"
    record = replace(work, title=title, type=kind, about=about, keys=maker.keys())
    if begins and maker.dice.random() < 0.5:
        record = replace(record, type="")
    return Lie(paper, maker.beside(work, record))


@lie
def thesis(maker: Maker, work: Paper, paper: Paper) -> Lie:
    record = replace(work, keys=maker.keys())
    if maker.dice.random() < 0.5:
        record = replace(record, type=maker.dice.choice(("dissertation", "phdthesis", "thesis")))
    else:
        record = replace(record, venue=maker.dice.choice(("PhD thesis, MIT", "Ph.D. dissertation")))
    return Lie(paper, maker.beside(work, maker.half(record)))


@lie
def what_belongs_to_it(maker: Maker, work: Paper, paper: Paper) -> Lie:
    kind = maker.dice.choice(
        ("dataset", "software", "component", "supplementary materials", "poster", "peer review")
    )
    record = replace(work, type=kind, keys=maker.keys())
    if maker.dice.random() < 0.5:
        begins = maker.dice.choice(("Data for: {}", "Supplementary material: {}", "Code of {}"))
        record = replace(record, title=begins.format(work.title), type="")
    return Lie(paper, maker.beside(work, record))


@lie
def book_of_its_title(maker: Maker, work: Paper, paper: Paper) -> Lie:
    kind = maker.dice.choice(("book", "monograph", "book review", "review", "book chapter"))
    authors = maker.dice.choice((work.authors, maker.people(work.authors), ()))
    record = replace(work, type=kind, abstract="", authors=authors, keys=maker.keys())
    return Lie(paper, maker.beside(work, record))


@lie
def translation(maker: Maker, work: Paper, paper: Paper) -> Lie:
    title = maker.dice.choice(
        ("{} [Article in Chinese]", "[{}]", "[{}].", "{} (traducción)", "Sobre {}", "{}")
    )
    abstract = maker.dice.choice((SPANISH, RUSSIAN, work.abstract, ""))
    if title == "{}":
        abstract = maker.dice.choice((SPANISH, RUSSIAN))
        words = maker.dice.choice((30, 60))
        cut = " ".join(work.abstract.split()[:words])
        paper = replace(paper, abstract=cut, authors=work.authors)
    record = replace(work, title=title.format(work.title), abstract=abstract, keys=maker.keys())
    return Lie(paper, maker.beside(work, record))


# ── other works of its title ────────────────────────────────────────────────────────


@lie
def namesake(maker: Maker, work: Paper, paper: Paper) -> Lie:
    return Lie(paper, maker.beside(work, maker.half(maker.other(work))))


@lie
def namesake_of_a_common_title(maker: Maker, work: Paper, paper: Paper) -> Lie:
    title = maker.dice.choice(COMMON_TITLES)
    work = replace(work, title=title)
    paper = replace(paper, title=title)
    record = maker.half(maker.other(work))
    same = replace(record, abstract="", keys=dict(record.keys))
    return Lie(paper, maker.beside(work, record), {"another": same})


@lie
def column(maker: Maker, work: Paper, paper: Paper) -> Lie:
    title = maker.dice.choice(COLUMNS)
    authors = maker.dice.choice((work.authors, maker.people(work.authors)))
    record = maker.half(maker.work(title=title, authors=authors))
    paper = replace(paper, title=title, authors=work.authors)
    return Lie(paper, maker.beside(work, record), {"another": record})


@lie
def namesake_with_a_namesake(maker: Maker, work: Paper, paper: Paper) -> Lie:
    """An author with a common name wrote under a common title, too."""
    title = maker.dice.choice(COMMON_TITLES)
    given = maker.dice.choice(GIVEN)
    family = maker.dice.choice(COMMON_FAMILIES)
    names = f"{given} {family}", f"{given[0]}. {family}"
    paper = replace(paper, title=title, authors=(names[0],), year=2024)
    other = maker.other(work, title=title, authors=(maker.dice.choice(names),))
    year = maker.dice.choice((other.year, None))
    return Lie(paper, maker.beside(work, replace(other, year=year)))


@lie
def nobody_wrote_both(maker: Maker, work: Paper, paper: Paper) -> Lie:
    names = (*GROUPS, "Anonymous", "Anonymous Authors", "et al.", "Unknown")
    authors = (maker.dice.choice(names),)
    record = maker.other(work, authors=authors, abstract="")
    return Lie(replace(paper, authors=authors), maker.beside(work, record))


@lie
def another_edition(maker: Maker, work: Paper, paper: Paper) -> Lie:
    """The same author used the title again, years later or for another text."""
    record = replace(work, abstract="", keys=maker.keys(), year=(work.year or 0) + 5)
    paper = replace(paper, authors=work.authors, year=work.year)
    if maker.dice.random() < 0.5:
        record = replace(record, abstract=f"{SPANISH} {maker.abstract(1)}", year=work.year)
        paper = replace(paper, abstract=" ".join(work.abstract.split()[:60]))
    return Lie(paper, maker.beside(work, record))


@lie
def few_words_in_common(maker: Maker, work: Paper, paper: Paper) -> Lie:
    begin = maker.dice.choice(("We study {}.", "In this paper, we propose a new approach to {}."))
    text = begin.format(maker.dice.choice(AIMS))
    paper = replace(paper, abstract=text, authors=())
    return Lie(paper, maker.beside(work, maker.other(work, abstract=text)))


@lie
def two_works_fit(maker: Maker, work: Paper, paper: Paper) -> Lie:
    paper = replace(paper, abstract=work.abstract, authors=())
    copy = replace(work, authors=maker.people(work.authors), keys=maker.keys())
    return Lie(paper, maker.beside(work, work, copy))


# ── other identifiers ───────────────────────────────────────────────────────────────


@lie
def another_identifier(maker: Maker, work: Paper, paper: Paper) -> Lie:
    scheme = maker.dice.choice(("arxiv", "pmid"))
    values = (maker.arxiv(), maker.arxiv()) if scheme == "arxiv" else ("1234567", "7654321")
    paper = replace(paper, keys={scheme: values[0]}, authors=work.authors)
    return Lie(paper, maker.beside(work, replace(work, keys={scheme: values[1]})))


@lie
def its_identifier_on_another_work(maker: Maker, work: Paper, paper: Paper) -> Lie:
    key = {"arxiv": maker.arxiv()} if maker.dice.random() < 0.5 else {"doi": maker.doi()}
    if maker.dice.random() < 0.5:
        other = maker.work(keys=key)
    else:
        other = replace(maker.near(maker.other(work)), keys=key)
    return Lie(replace(paper, keys=key), maker.beside(work, maker.half(other)))


@lie
def two_identifiers(maker: Maker, work: Paper, paper: Paper) -> Lie:
    record = replace(work, keys={"arxiv": (maker.arxiv(), maker.arxiv())})
    if maker.dice.random() < 0.5:
        record = replace(work, keys={"arxiv": maker.arxiv()})
        record = replace(record, pdf_url=f"https://arxiv.org/pdf/{maker.arxiv()}")
    return Lie(replace(paper, authors=work.authors), maker.beside(work, record))


@lie
def services_that_disagree(maker: Maker, work: Paper, paper: Paper) -> Lie:
    paper = replace(paper, abstract=work.abstract, authors=())
    one, other = (replace(work, keys={"arxiv": maker.arxiv()}) for _ in range(2))
    return Lie(paper, maker.beside(work, one), {"another": other})


@lie
def services_with_two_namesakes(maker: Maker, work: Paper, paper: Paper) -> Lie:
    paper = replace(paper, abstract="", authors=(), year=None)
    one = work
    other = maker.other(work)
    if maker.dice.random() < 0.5:
        return Lie(paper, maker.beside(work, one), {"another": other})
    return Lie(paper, maker.beside(work, one), {"another": other, "a third": one})


def make_lies(seed: int, kind: str, count: int) -> Iterator[Lie]:
    maker = Maker(random.Random(f"{seed} {kind}"))
    return (maker.lie(kind) for _ in range(count))
