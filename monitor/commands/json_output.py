"""The JSON that several commands, or a command and the API, answer with; scripts rely on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from monitor.digest.paper_json import Answer, keys_json, paper_fields, pick, plain
from monitor.identity.reasons import describe
from monitor.model import Delivery, LikeWords, Paper, Sighting
from monitor.model.look_up import filled_by
from monitor.model.paper_fields import IN_PAPERS, IN_READ

if TYPE_CHECKING:  # JSON is made of values that exist: the modules that make them are loaded
    from monitor.commands.explain import Explanation
    from monitor.commands.like_trial import LikeTrial, NearPaper, WordsReport
    from monitor.commands.look_up import LookedUp
    from monitor.commands.paper_search import FoundPaper
    from monitor.commands.ratings import Rated, SavedPaper
    from monitor.commands.references import Reference
    from monitor.commands.status import Status
    from monitor.commands.subscriptions import SubscriptionReport
    from monitor.commands.topic_trial import Sample, Trial

# The attributes that each answer has of a value; `monitor/web/api_answers.py` has their schemas.
OF_STATUS = "name timezone next_due last_period last_papers waiting changes why paused_until"
OF_DELIVERY = "id subscription period channel recipient state attempts message_id error"
OF_SUBSCRIPTION = (
    "name title topics recipients channels schedule timezone next waiting changes stopped "
    "paused_until troubles guard libraries"
)
OF_SAVE = "subscription who at"
OF_RATING = "subscription topic who verdict at how"
OF_SENT_DIGEST = "subscription period revision place reason left_to_archive may_repeat"
OF_EXPLANATION = "topics joined rulings libraries reported shared_keys"
OF_SIGHTING = "source raw_id version announce fingerprint first_seen last_seen document past"
OF_SOURCE = "source document raw_id"
OF_SERVICE = "name ok asked found not_found contradicted waiting spent_today a_day error"
OF_EMBEDDINGS = "model ok asked answered given_up added waiting spent_today a_day error"
OF_FILLED = "service when fields how"
OF_FOLLOWED = "service asked changes error"


def status_json(report: Status) -> Answer:
    """Return the state of everything; `suppressions` and others only if there are any."""
    answer: Answer = plain(report) | {
        "subscriptions": [pick(known, OF_STATUS) for known in report.subscriptions],
        "problems": [problem.text for problem in report.problems],
    }
    if report.look_up:
        services = [pick(service, OF_SERVICE) for service in report.look_up.services]
        joined = plain(report.look_up.joined)
        saved = plain(report.look_up.saved)
        answer["look_up"] = {"services": services, "joined": joined, "saved": saved}
    if report.embeddings:
        answer["embeddings"] = pick(report.embeddings, OF_EMBEDDINGS)
    for name in ("suppressions", "warnings", "look_up", "embeddings"):
        if not answer[name]:
            del answer[name]
    return answer


def deliveries_json(deliveries: Iterable[Delivery]) -> Answer:
    return {"deliveries": [pick(delivery, OF_DELIVERY) for delivery in deliveries]}


def subscriptions_json(reports: Iterable[SubscriptionReport]) -> Answer:
    return {
        "subscriptions": [
            pick(known, OF_SUBSCRIPTION)
            | {"last": plain(known.last.composed_at) if known.last else None}
            for known in reports
        ]
    }


def trial_json(trial: Trial) -> Answer:
    answer = {
        "papers": trial.papers,
        "share": round(trial.share, 4),
        "per_day": [
            {"day": f"{day}", "papers": count} for day, count in sorted(trial.per_day.items())
        ],
        "sample": _samples(trial.sample),
        "warnings": list(trial.warnings),
        "suggestions": [suggestion._asdict() for suggestion in trial.suggestions],
    }
    if trial.compare:
        answer["compare"] = pick(trial.compare, "query papers gained lost") | {
            "gained_sample": _samples(trial.compare.gained_sample),
            "lost_sample": _samples(trial.compare.lost_sample),
        }
    return answer


def like_trial_json(trial: LikeTrial) -> Answer:
    """Return what a text would have found; `line` is how many of the nearest reach the bar."""
    return {
        "papers": trial.papers,
        "looked_at": trial.looked_at,
        "a_day": round(trial.a_day, 3),
        "per_day": [
            {"day": f"{day}", "papers": count} for day, count in sorted(trial.per_day.items())
        ],
        **_words(trial.words),
        "line": sum(paper.matches for paper in trial.nearest),
        "nearest": [_near_paper(paper) for paper in trial.nearest],
        "beside_bar": [_near_paper(paper) for paper in trial.beside_bar],
    }


def _near_paper(paper: NearPaper) -> Answer:
    return {
        **pick(paper, "id title"),
        "score": round(paper.score, 4),
        "matches": paper.matches,
        "why": [pick(reason, "field words") for reason in paper.why],
    }


def words_json(report: WordsReport) -> Answer:
    return {
        "topic": report.topic,
        "version": report.words.version,
        "at": plain(report.words.at),
        **_words(report.words),
        "examples": report.words.examples,
        "missing": list(report.words.missing),
        "add": [change.word for change in report.changes if change.add],
        "drop": [change.word for change in report.changes if not change.add],
        "versions": [
            pick(words, "version at examples") | {"bar": words.bar, "words": len(words.words)}
            for words in report.versions
        ],
    }


def _words(words: LikeWords) -> Answer:
    listed = [{"word": word.written, "weight": word.weight} for word in words.words]
    return {"bar": words.bar, "words": listed}


def _samples(samples: Iterable[Sample]) -> list[Answer]:
    return [
        {"title": sample.title, "why": [pick(reason, "field words") for reason in sample.why]}
        for sample in samples
    ]


def papers_json(papers: Iterable[FoundPaper]) -> Answer:
    return {"papers": [paper_json(paper) for paper in papers]}


def paper_json(hit: FoundPaper) -> Answer:
    """Return a stored paper; what is not known is null or empty."""
    return {
        "id": hit.stored.id,
        **paper_fields(hit.stored.paper, IN_PAPERS),
        "line": _line(hit),
        "filled": [pick(filled, OF_FILLED) for filled in hit.filled],
        "first_seen": hit.stored.first_seen.isoformat(),
        "sources": [pick(sighting, OF_SOURCE) for sighting in hit.sightings],
    }


def _line(hit: FoundPaper) -> Answer | None:
    note = hit.note
    return {"text": note.line, "by": note.maker} if note and note.line else None


def saved_json(saved: Iterable[SavedPaper]) -> Answer:
    """Return saved papers, each with who saved it when, and what services said of it since."""
    return {
        "papers": [
            paper_json(one.found)
            | {
                "saved": [pick(save, OF_SAVE) for save in one.saves],
                "followed": [pick(answer, OF_FOLLOWED) for answer in one.followed],
            }
            for one in saved
        ]
    }


def explanation_json(explanation: Explanation) -> Answer:
    origin = explanation.origin
    stored = explanation.origin.stored
    answer = {
        "id": stored.id,
        **paper_fields(stored.paper, IN_PAPERS),
        "withdrawn": stored.paper.withdrawn,
        **pick(stored, "first_seen news_at"),
        "sources": list(map(_sighting, origin.sightings)),
        "changes": plain(origin.changes),
        "digests": [pick(sent, OF_SENT_DIGEST) for sent in explanation.digests],
        **pick(explanation, OF_EXPLANATION),
        "filled": [pick(filled, OF_FILLED) for filled in explanation.filled],
        "followed": [pick(answer, OF_FOLLOWED) for answer in explanation.followed],
    }
    return answer | ({"near": plain(explanation.near)} if explanation.near else {})


def _sighting(sighting: Sighting) -> Answer:
    answer = pick(sighting, OF_SIGHTING)
    if sighting.filled:  # scripts read there what a reference list filled in
        answer["announce"] = f"@filled {', '.join(sighting.filled)}"
    return answer | {"why": describe(sighting.recognised), "text": plain(sighting.text)}


def references_json(references: Iterable[Reference]) -> Answer:
    """Return entries of libraries; what is not known is null."""
    return {
        "references": [
            {
                **pick(reference, "library title"),
                "file": reference.place.file or None,
                "entry": reference.place.key or None,
                "keys": keys_json(reference.paper.keys),
                "state": reference.state,
                "since": reference.since or None,
                "by": reference.by or None,
                **pick(reference, "notice asked"),
            }
            for reference in references
        ]
    }


def looked_up_json(asked: Iterable[LookedUp]) -> Answer:
    """Return papers, each with how far services were asked about it."""
    return {
        "papers": [
            {
                "id": one.stored.id,
                "title": one.stored.paper.title,
                "filled": [pick(each, OF_FILLED) for each in filled_by(one.look_ups)],
                "services": [
                    {
                        **pick(each, "service state attempts"),
                        "asked": plain(each.asked_at),
                        "error": each.answered.error or None,
                    }
                    for each in one.look_ups
                ],
            }
            for one in asked
        ]
    }


def rated_json(rated: Iterable[Rated]) -> Answer:
    return {
        "rated": [
            {"paper": rating.paper_id, "title": title} | pick(rating, OF_RATING)
            for rating, title in rated
        ]
    }


def read_paper(paper: Paper) -> Answer:
    return paper_fields(paper, IN_READ)
