"""The papers of a digest explained: why topics match them, and the changes of a revision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from msgspec import structs

from monitor.digest.draft import Draft
from monitor.digest.excerpt import words_of_all
from monitor.digest.lines import choose_note
from monitor.digest.sentence_value import sentences
from monitor.digest.shown import formulas_of, readable_title, shown, shown_title
from monitor.model import (
    MODEL,
    ChangeKind,
    Digest,
    DigestGroup,
    DigestPaper,
    EarlierText,
    MatchReason,
    OtherTitle,
    Paper,
    Revision,
    SiteNote,
    WithdrawnBy,
)
from monitor.text import clean, title_lengths

Explain = Callable[[str, Paper, Sequence[str]], tuple[MatchReason, ...]]


def explain_papers(
    draft: Draft,
    explain: Explain,
    other_titles: Mapping[int, tuple[OtherTitle, ...]],
    earlier: Mapping[int, EarlierText] = {},
    owned: Collection[int] = (),
    withdrawn_by: Mapping[int, WithdrawnBy] = {},
    notes: Mapping[int, Sequence[SiteNote]] = {},
) -> tuple[DigestGroup, ...]:
    """Return the papers of a draft, those in full or with a long title explained.

    `explain(topic, paper, sources)` returns why the topic matches a paper as the digest shows it:
    its spans are positions in the text shown. `other_titles` are those under which papers were
    seen, and `earlier` the texts of revised papers before, by paper id; `owned` are in a library,
    and `withdrawn_by` names the sources of withdrawals. `notes` are what sites add to papers.
    """

    def entry(listed: DigestPaper) -> DigestPaper:
        if listed.paper_id in owned:
            listed = structs.replace(listed, owned=True)
        if (by := withdrawn_by.get(listed.paper_id)) and listed.kind is ChangeKind.WITHDRAWN:
            listed = structs.replace(listed, withdrawn_by=by)
        in_full = listed.paper_id in draft.in_full
        if not in_full and len(listed.paper.title) <= title_lengths.IN_LIST:
            return listed
        source = draft.latest[listed.paper_id].stored.paper
        explained = _explain(listed, source, explain, other_titles.get(listed.paper_id, ()))
        if in_full and (of_paper := notes.get(listed.paper_id)):
            note = choose_note(of_paper, explained.paper.title, explained.paper.abstract)
            explained = structs.replace(explained, note=note)
        if not in_full:
            return structs.replace(explained, paper=listed.paper)
        if listed.kind is not ChangeKind.REVISED:
            return explained
        revised = describe_revision(earlier.get(listed.paper_id), source)
        return structs.replace(explained, revised=revised)

    groups = (replace(group, entries=tuple(map(entry, group.entries))) for group in draft.groups)
    return tuple(_without_common_marks(group, draft.in_full) for group in groups)


def _without_common_marks(group: DigestGroup, in_full: Collection[int]) -> DigestGroup:
    marked = words_of_all([entry for entry in group.entries if entry.paper_id in in_full])
    # The reasons of those that are listed by title are not known.
    titles = [entry.paper.title.casefold() for entry in group.entries]
    words = tuple([word for word in marked if all(word in title for title in titles)])
    if not words:
        return group
    entries = (structs.replace(entry, unmarked=words) for entry in group.entries)
    return replace(group, entries=tuple(entries))


def explain_again(digest: Digest, explain: Explain) -> Digest:
    """Return a digest whose texts were removed, of papers as they are now, explained again."""
    in_full = {entry.paper_id for entry in digest.best(digest.full)}

    def entry(listed: DigestPaper) -> DigestPaper:
        if listed.paper_id in in_full:
            return _explain(listed, listed.paper, explain, listed.also)
        return structs.replace(listed, paper=shown_title(listed.paper))

    groups = (replace(group, entries=tuple(map(entry, group.entries))) for group in digest.groups)
    return replace(digest, groups=tuple(groups))


def _explain(
    entry: DigestPaper, source: Paper, explain: Explain, also: Sequence[OtherTitle]
) -> DigestPaper:
    paper = shown(source)

    def why(topic: str) -> tuple[MatchReason, ...]:
        reasons = explain(topic, paper, entry.sources)
        # Words without spans: they occur only in the source of a formula.
        return reasons or tuple(
            structs.replace(reason, spans=()) for reason in explain(topic, source, entry.sources)
        )

    return structs.replace(
        entry,
        paper=paper,
        formulas=formulas_of(source.title, source.abstract),
        matched=tuple(
            structs.replace(matched, why=(*why(matched.topic), *_of_model(matched.why)))
            for matched in entry.matched
        ),
        also=tuple(OtherTitle(readable_title(other.title), other.source) for other in also),
    )


def _of_model(reasons: Sequence[MatchReason]) -> Sequence[MatchReason]:
    """Return those reasons that the text of the paper does not show."""
    return [reason for reason in reasons if reason.field == MODEL]


# An abstract has some ten; of a longer text, the first are compared.
_MOST_SENTENCES = 100


def describe_revision(before: EarlierText | None, paper: Paper) -> Revision:
    """Return what changed from an earlier text to the paper; without it, the version alone."""
    if before is None:
        return Revision(version=paper.version)
    title = readable_title(before.title)
    is_same = title.casefold() == readable_title(paper.title).casefold()
    return Revision(
        version=paper.version,
        version_before=before.version if before.version != paper.version else None,
        title_before="" if is_same else title,
        sentences=count_changes(before.abstract, paper.abstract),
    )


def count_changes(before: str, after: str) -> int:
    """Return how many sentences are new, gone or different."""
    sentences_before = _sentences(before)
    sentences_after = _sentences(after)
    codes = SequenceMatcher(None, sentences_before, sentences_after, autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for kind, a, b, c, d in codes if kind != "equal")


def _sentences(text: str) -> list[str]:
    whole = clean(text)
    return [whole[start:end].casefold() for start, end in sentences(whole)][:_MOST_SENTENCES]
