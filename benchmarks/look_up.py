"""How many papers the answers of services fill in, and how many wrongly, without a network.

    python benchmarks/look_up.py PAPERS [LABELLED] [--every N]

PAPERS is gzipped and has one JSON object a line (id, title, abstract, authors, venue, year): what a
service has. They are looked up by their titles and the beginnings of their abstracts, as dumps have
them. Each answer is the ten records with the most words of the title; a namesake is one of these by
other authors under the title of the paper, with its own text, authors and identifier. The next
paper of a group is that by one of the authors whose abstract is most like the paper's, under the
title of the paper; the paper is looked up without its authors and with them. The papers of
the dumps in `seeds/` are looked up among their records in `seeds/arxiv.jsonl`, with all of PAPERS
beside them.

LABELLED is the folder of labelled pairs: a preprint is looked up, by the beginning of its abstract,
in the record of what was published, and the other way round.

Thresholds are chosen on one half of the works, by a hash, and all figures are of both halves. Exits
with 1 if a paper is filled wrongly, but for one in a thousand by the next paper of a group, or if
fewer than 97% of the dumps' works are filled.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import labelled
from msgspec.structs import replace

from monitor.identity.compare_texts import compare_persons, same_title
from monitor.identity.features import abstract_agreement
from monitor.identity.folded_record import fold_record
from monitor.identity.looked_up import Judgement, judge
from monitor.identity.same_work import same_work
from monitor.model import Document, Paper
from monitor.model.look_up import LookUpOutcome
from monitor.resources import resource
from monitor.sources.base import SourceOptions
from monitor.sources.huggingface_page.source import HuggingFacePage
from monitor.text import title_key

NOW = datetime(2026, 11, 21, tzinfo=UTC)
CUTS = (0, 15, 30, 60, 200)
ANSWER = 10
# Abstracts of so few words say nothing: then nothing tells two papers of one group apart.
SHORT = 20
# A word of more titles finds nothing.
MOST_TITLES = 500
LEAST_FILLED = 0.97
# Some groups begin their next abstract in the words of the last.
MOST_OF_GROUP = 0.001
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
PARTS = {False: "chosen on", True: "held out"}


class Case(NamedTuple):
    """A paper that is looked up, and the record that is its, None where there is none."""

    paper: Paper
    record: Paper | None
    held_out: bool


class Service:
    """Answers a title with the records that have the most of its words."""

    def __init__(self, records: Sequence[Paper]) -> None:
        self.records = records
        self._at: dict[str, list[int]] = defaultdict(list)
        for number, record in enumerate(records):
            for word in fold_record(record).title.distinct:
                self._at[word].append(number)

    def ask(self, title: str) -> list[Paper]:
        found = Counter[int]()
        for word in fold_record(Paper(title)).title.distinct:
            numbers = self._at.get(word, [])
            found.update(numbers if len(numbers) <= MOST_TITLES else ())
        return [self.records[number] for number, _ in found.most_common(ANSWER)]


def read_records(file: Path) -> list[Paper]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [_record(number, json.loads(line)) for number, line in enumerate(lines)]


def _record(number: int, row: Mapping[str, Any]) -> Paper:
    return Paper(
        row["title"],
        row["abstract"],
        tuple(row["authors"]),
        venue=row["venue"],
        year=int(row["year"]),
        keys={"doi": f"10.1000/{number}"},
    )


def read_seeds() -> list[Paper]:
    rows = map(json.loads, (resource("seeds") / "arxiv.jsonl").read_text("utf-8").splitlines())
    return [
        Paper(
            row["title"],
            row["abstract"],
            tuple(row.get("authors", ())),
            keys={"arxiv": row["url"].rpartition("/")[2]},
            url=row["url"],
        )
        for row in rows
    ]


def read_dumps() -> list[Paper]:
    """Return the papers of the dumps, one of each title."""
    page = HuggingFacePage("bench", SourceOptions(path="-"), None, lambda: NOW)
    papers: dict[str, Paper] = {}
    for dump in sorted(resource("seeds").glob("*.txt")):
        for paper in page.read(Document(dump.name, dump.read_bytes(), NOW)).papers:
            papers.setdefault(title_key(paper.title), paper)
    return list(papers.values())


def cut(paper: Paper, words: int) -> Paper:
    return Paper(paper.title, " ".join(paper.abstract.split()[:words]))


def _looked_up_as(record: Paper, words: int, signed: bool) -> Paper:
    paper = cut(record, words)
    return replace(paper, authors=record.authors, year=record.year) if signed else paper


def namesakes(paper: Paper, answer: Iterable[Paper]) -> list[Paper]:
    """Return works of other authors under the title of a paper."""
    return [
        replace(record, title=paper.title)
        for record in answer
        # "C. Xu" may be the group of "Chunquan Xu".
        if not ((persons := compare_persons(record.authors, paper.authors)) and persons.met)
    ]


def next_papers(papers: Sequence[Paper], records: Sequence[Paper]) -> list[Paper | None]:
    """Return, for each paper, the most similar other record with an author of it, under its title.

    None for a paper whose authors have no other.
    """
    by_author: dict[str, list[Paper]] = defaultdict(list)
    for record in records:
        for author in record.authors:
            by_author[author].append(record)

    def most_similar(paper: Paper) -> Paper | None:
        others = {id(o): o for author in paper.authors for o in by_author[author]}
        ours = fold_record(paper)
        alike = sorted(
            (
                (abstract_agreement(ours, fold_record(other))[0] or 0.0, other.keys["doi"], other)
                for other in others.values()
                if not same_title(paper, other)
            ),
            reverse=True,
        )
        # An extended abstract and its article are one work under two titles.
        distinct = (other for *_, other in alike if not same_work(paper, other).same)
        found = next(distinct, None)
        return found and replace(found, title=paper.title)

    return [most_similar(paper) for paper in papers]


def report(name: str, judged: Iterable[tuple[Case, Judgement]]) -> int:
    """Print how many papers were filled in each half; return how many wrongly."""
    outcomes: dict[bool, Counter[LookUpOutcome]] = defaultdict(Counter)
    wrong = Counter[bool]()
    for case, judgement in judged:
        outcomes[case.held_out][judgement.outcome] += 1
        if judgement.outcome is LookUpOutcome.FOUND and judgement.record != case.record:
            wrong[case.held_out] += 1
            print(f"    WRONG: {case.paper.title!r}: {judgement.record}")
    for held_out, counts in sorted(outcomes.items()):
        total = counts.total()
        shares = "".join(f"{counts[outcome] / total:>13.2%}" for outcome in LookUpOutcome)
        print(f"{name:<36}{PARTS[held_out]:<10}{total:>7}{shares}{wrong[held_out]:>7}")
    return wrong.total()


def report_papers(service: Service, records: Sequence[Paper]) -> tuple[int, float]:
    """Look up papers by titles and beginnings of abstracts.

    Return how many were filled wrongly, and the highest share that next papers of groups filled.
    """
    wrong = 0
    of_group = 0.0
    following = next_papers(records, service.records)
    answers = [service.ask(record.title) for record in records]
    for words in CUTS:
        papers = [cut(record, words) for record in records]
        cases = [
            Case(paper, record, labelled.is_held_out(record.title))
            for paper, record in zip(papers, records, strict=True)
        ]
        lies = [namesakes(*pair) for pair in zip(records, answers, strict=True)]
        name = f"{words} words" if words else "title only"
        found = [judge(c.paper, answer) for c, answer in zip(cases, answers, strict=True)]
        wrong += report(name, zip(cases, found, strict=True))
        if not words:
            found = [
                judge(c.paper, answer, {"another": replace(c.record, abstract="")})
                for c, answer in zip(cases, answers, strict=True)
                if c.record
            ]
            wrong += report("title only, two services", zip(cases, found, strict=True))
        alone = [case._replace(record=None) for case in cases]
        found = [judge(c.paper, lie[:1]) for c, lie in zip(alone, lies, strict=True)]
        wrong += report(f"{name}, a namesake", zip(alone, found, strict=True))
        for signed in (False, True) if words > SHORT else (False,):
            by_group = [
                (Case(_looked_up_as(record, words, signed), None, case.held_out), other)
                for record, case, other in zip(records, cases, following, strict=True)
                if other
            ]
            name_of_group = f"{name}{' and authors' if signed else ''}, the next paper"
            found = [judge(case.paper, [other]) for case, other in by_group]
            filled = report(name_of_group, zip((c for c, _ in by_group), found, strict=True))
            of_group = max(of_group, filled / len(by_group))
        found = [
            judge(c.paper, [*answer, *lie[:2]])
            for c, answer, lie in zip(cases, answers, lies, strict=True)
        ]
        wrong += report(f"{name}, beside namesakes", zip(cases, found, strict=True))
    return wrong, of_group


def report_dumps(records: Sequence[Paper]) -> tuple[int, float]:
    """Look up the works of the dumps. Return how many were filled wrongly, and the share filled."""
    seeds = read_seeds()
    service = Service([*seeds, *records])
    by_title = {title_key(seed.title): seed for seed in seeds}
    cases = []
    judged = []
    for paper in read_dumps():
        record = by_title.get(title_key(paper.title))
        if record is not None:
            cases.append(Case(paper, record, labelled.is_held_out(paper.title)))
            judged.append(judge(paper, service.ask(paper.title)))
    wrong = report("works of the dumps", zip(cases, judged, strict=True))
    for case, judgement in zip(cases, judged, strict=True):
        if judgement.outcome is not LookUpOutcome.FOUND:
            print(f"    {judgement.outcome}: {case.paper.title}: {judgement.reasons}")
    filled = sum(judgement.outcome is LookUpOutcome.FOUND for judgement in judged)
    return wrong, filled / len(judged)


def report_labelled(folder: Path) -> None:
    """Look up preprints and what was published of them, and measure how abstracts agree."""
    pairs = [
        pair
        for pair in labelled.read(folder)
        if pair.same and same_title(pair.a, pair.b) and pair.a.abstract and pair.b.abstract
    ]
    for words, signed in product(CUTS[2:], (False, True)):
        cases = list(_looked_up(pairs, words, signed))
        judged = [judge(case.paper, [case.record]) for case in cases if case.record]
        name = f"preprints, {words} words{' and authors' if signed else ''}"
        report(name, zip(cases, judged, strict=True))
        if signed:
            continue
        for held_out, part in PARTS.items():
            agreed = [
                abstract_agreement(fold_record(case.paper), fold_record(case.record))[0] or 0.0
                for case in cases
                if case.record and case.held_out is held_out
            ]
            shares = (sum(a >= least for a in agreed) / len(agreed) for least in THRESHOLDS)
            print(f"    abstracts agree, {part}: " + _by_threshold(shares))


def report_strangers(service: Service, records: Sequence[Paper]) -> None:
    """Measure how the beginning of an abstract agrees with those of the most similar titles."""
    for words in CUTS[2:]:
        for held_out, part in PARTS.items():
            best = []
            for record in records:
                if labelled.is_held_out(record.title) is held_out:
                    ours = fold_record(cut(record, words))
                    others = namesakes(record, service.ask(record.title))
                    agreed = [abstract_agreement(ours, fold_record(o))[0] or 0.0 for o in others]
                    best.append(max(agreed, default=0.0))
            shares = (sum(a >= least for a in best) / len(best) for least in THRESHOLDS)
            print(f"strangers' abstracts, {words} words, {part}: " + _by_threshold(shares))


def _by_threshold(shares: Iterable[float]) -> str:
    return "  ".join(f"{t}: {share:.2%}" for t, share in zip(THRESHOLDS, shares, strict=True))


def _looked_up(pairs: Iterable[labelled.Pair], words: int, signed: bool) -> Iterator[Case]:
    for pair in pairs:
        yield Case(_looked_up_as(pair.a, words, signed), pair.b, pair.held_out)
        yield Case(_looked_up_as(pair.b, words, signed), pair.a, pair.held_out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", type=Path)
    parser.add_argument("labelled", type=Path, nargs="?")
    parser.add_argument("--every", type=int, default=1, help="look up one paper in so many")
    arguments = parser.parse_args()
    names = "".join(f"{outcome:>13}" for outcome in LookUpOutcome)
    print(f"{'':<46}{'papers':>7}{names}{'wrong':>7}")
    records = read_records(arguments.papers)
    wrong, filled = report_dumps(records)
    service = Service(records)
    sought = records[:: arguments.every]
    more, of_group = report_papers(service, sought)
    wrong += more
    report_strangers(service, sought)
    if arguments.labelled:
        report_labelled(arguments.labelled)
    print(
        f"filled wrongly: {wrong}; of the dumps' works filled: {filled:.1%}; "
        f"from the next paper of a group at most: {of_group:.3%}"
    )
    return int(wrong > 0 or filled < LEAST_FILLED or of_group > MOST_OF_GROUP)


if __name__ == "__main__":
    sys.exit(main())
