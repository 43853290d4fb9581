"""The words about incidents: for the operator, on pages and in `status`, and in digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from shlex import quote

from monitor.digest.passage import capitalize
from monitor.model.incidents import IncidentKind, Subject, SubjectKind


@dataclass(frozen=True, slots=True)
class IncidentWords:
    # The heading on pages and in the operator's mail; when it is over, "" if that is not reported.
    began: str
    ended: str = ""
    # Its meaning for readers, in the operator's mail.
    meaning: str = ""
    # The remedy, unless the error names it.
    remedy: str = ""
    # How a command ends it, with the recipient or delivery that it is given.
    command: str = ""
    # In `status`, between the subject and "since": "has been failing".
    lasting: str = ""
    # In the digests of readers, of the incidents of sources: the source, and a day.
    in_digest: str = "{} has been out of order since {}."

    def to_end(self, target: str) -> str:
        """Return the sentence with the command for a recipient or delivery, "" without one."""
        text = self.command.format(quote(target)) if target else ""
        return f"{capitalize(text)}." if text else ""


LIFT = "`paper-monitor suppressions lift {}`"
_RESUME = f"resume it with {LIFT}"
_FEWER = "Readers have the papers of the other sources; their digests mention it."
_LATE = "Readers get their papers late; none is lost."

_WORDS: Mapping[str, IncidentWords] = {
    IncidentKind.FAILING: IncidentWords(
        "{} cannot be read",
        "{} can be read again",
        "Its papers will arrive late.",
        "It is read again at its usual times. If it has moved, correct its address in the "
        "configuration.",
        lasting="has been failing",
        in_digest="{} has not been readable since {}; its news will follow.",
    ),
    IncidentKind.HELD: IncidentWords(
        "{} repeats old papers",
        "{} is read again",
        "Its papers wait until this is settled.",
        lasting="has been held",
        in_digest="{} has repeated old papers since {}; its new ones will follow.",
    ),
    IncidentKind.GAP: IncidentWords(
        "papers of {} may be missing",
        meaning="What it listed then may be in no digest.",
        remedy="Nothing brings back what it no longer lists. A shorter `every` prevents the next "
        "gap.",
        lasting="has had a gap",
        in_digest="Some papers of {} from before {} may be missing.",
    ),
    IncidentKind.UNANSWERED: IncidentWords(
        "{} does not answer about references",
        "{} answers again",
        "Changes of these references may be missed.",
        "Look whether a proxy or another `url` answers in its place, and whether the identifiers "
        "in the library are right.",
        lasting="has not answered about references",
        in_digest="{} has not answered about references since {}; changes of them may be missing.",
    ),
    IncidentKind.STALE: IncidentWords(
        "{} has offered nothing new",
        "{} has something new again",
        _FEWER,
        "Look at its own site: if there are papers, its address or format may have changed.",
        lasting="has been stale",
        in_digest="{} has offered nothing new since {}.",
    ),
    IncidentKind.THIN: IncidentWords(
        "{} has brought fewer papers than usual",
        "{} is as usual again",
        _FEWER,
        "Look at its own site: if there are more papers, its format may have changed.",
        lasting="has been thin",
        in_digest="{} has brought fewer papers than usual since {}.",
    ),
    IncidentKind.SILENT: IncidentWords(
        "{} has brought no papers",
        "{} has papers again",
        _FEWER,
        "Look at its own site: if there are papers, its address or format may have changed.",
        lasting="has been silent",
        in_digest="{} has brought no papers since {}, longer than usual.",
    ),
    IncidentKind.NOT_COMPOSED: IncidentWords(
        "there is no digest for {}",
        "{} has digests again",
        _LATE,
        "It is tried again automatically; the log has more about the error.",
        lasting="has not been composed",
    ),
    IncidentKind.DOWN: IncidentWords(
        "nothing can be sent by {}",
        "digests are sent by {} again",
        "Digests wait.",
        "`paper-monitor doctor` finds what is wrong: the address, the password or the server.",
        lasting="has been down",
    ),
    IncidentKind.NOT_RENDERED: IncidentWords(
        "{} cannot render a digest",
        "{} renders digests again",
        "That digest waits until it is sent with `paper-monitor deliveries retry`.",
        "The digest waits. When the cause is removed, try again.",
        "once the cause is removed, `paper-monitor deliveries retry {}` sends it",
        "has been unable to render a digest",
    ),
    IncidentKind.REPLACED: IncidentWords(
        "your template for {} cannot be used",
        "your template for {} is in use again",
        "Digests look as they do without it.",
        "Correct the template; `paper-monitor check` names the line.",
        lasting="could not be used",
    ),
    IncidentKind.REFUSED: IncidentWords(
        "{} is refused",
        "{} is accepted again",
        "This recipient lacks a digest.",
        "Correct the address in the configuration, or try again if it exists.",
        lasting="has been refused",
    ),
    IncidentKind.STOPPED: IncidentWords(
        "{} is stopped: the address does not exist",
        "{} is no longer a problem",
        "Its mail server said so of two digests, a day or more apart. This recipient gets no more "
        "digests until you resume them.",
        "Correct the address in the configuration, or resume if it exists.",
        _RESUME,
        "has been stopped",
    ),
    IncidentKind.GONE: IncidentWords(
        "{} is stopped: its address is gone",
        "{} is no longer stopped",
        "Its service answered that this address is permanently gone. Nothing is sent there until "
        "you resume it; its next digest then has what waits.",
        "Correct the address of the channel in the configuration, then resume it.",
        _RESUME,
        "has been stopped",
    ),
    IncidentKind.UNCLEAR: IncidentWords(
        "{}: a digest may not have arrived",
        "{}: it is settled whether a digest arrived",
        "The recipient may lack it until this is settled.",
    ),
    IncidentKind.FAULTY: IncidentWords(
        "the configuration has a fault",
        "the configuration has no fault any more",
        "Digests are sent as configured before.",
        "Correct the configuration; `paper-monitor check` names each fault and its line.",
        lasting="has been faulty",
    ),
    IncidentKind.JUMPED: IncidentWords(
        "the clock has jumped",
        "the clock is right again",
        _LATE,
        "Set the clock of the machine, or restart the service if it shows the correct time.",
        lasting="has jumped",
    ),
    IncidentKind.UNAVAILABLE: IncidentWords(
        "the store was unavailable",
        meaning="Digests may have been late.",
        lasting="was unavailable",
    ),
    IncidentKind.SHARED: IncidentWords(
        "two configurations use one store",
        "one configuration uses the store",
        "Readers may get digests of both.",
        "Stop one of the two, or give it a store of its own.",
        lasting="has been used by two configurations",
    ),
    IncidentKind.UNCONFIRMED: IncidentWords(
        "no digest is sent until you confirm who gets none",
        "it is confirmed who gets no digests",
        _LATE,
        lasting="has been unconfirmed",
    ),
}
# Of a folder that cannot be read, in `status` and on pages, where its files are listed.
FAILING_FILES = replace(
    _WORDS[IncidentKind.FAILING],
    began="files of {} cannot be read",
    remedy="Repair these files, or move them out of the folder. It is looked at every minute.",
)
# Of subjects whose incidents have words of their own.
_OF_SUBJECTS: Mapping[str, IncidentWords] = {
    SubjectKind.SLACK_ANSWERS: IncidentWords(
        "choices in Slack are not received",
        "choices in Slack are received again",
        "Whoever rates a paper there sees an error.",
        "`paper-monitor doctor` finds out whether the tokens of Slack are valid.",
        lasting="has been failing",
    ),
    SubjectKind.SERVICE: IncidentWords(
        "{} does not answer about papers",
        "{} answers about papers again",
        "Digests go out with what is known without it.",
        "It is asked again automatically. `paper-monitor doctor` tries it; if it has moved, set "
        "its `url` in `look_up`.",
        lasting="has been failing",
    ),
    SubjectKind.EMBEDDINGS: IncidentWords(
        "the server of {} does not answer",
        "the server of {} answers again",
        "Digests go out in the order of words, and no model adds papers.",
        "It is asked again automatically. `paper-monitor doctor` tries it; `embeddings` in the "
        "configuration has its address, model and key.",
        "has been failing",
    ),
}

_SENDERS = {"smtp": "mail", "slack": "Slack"}

# Subjects as `status` names them; of others, their kind says all.
_SUBJECTS: Mapping[SubjectKind, str] = {
    SubjectKind.SOURCE: "source {}",
    SubjectKind.SUBSCRIPTION: "subscription {}",
    SubjectKind.CHANNEL: "channel {}",
    SubjectKind.TEMPLATES: "template for {}",
    SubjectKind.RECIPIENT: "{} to {}",
    SubjectKind.OUTAGE_GROUP: "{}",
    SubjectKind.SERVICE: "look-up at {}",
    SubjectKind.SUPPRESSIONS: "list of suppressions",
}


def name_subject(subject: Subject) -> str:
    """Return what `status` and the log call a subject: `source hf`, `email to ada@example.org`."""
    about = subject.about
    if about is SubjectKind.RECIPIENT and subject.name == subject.recipient:
        about = SubjectKind.CHANNEL  # one of a channel that has no other, as a webhook
    return _SUBJECTS.get(about, about).format(subject.name, subject.recipient)


def short_name(subject: Subject) -> str:
    """Return what people call a subject that has no title of its own: `mail`, `pages`."""
    is_channel = subject.about in (SubjectKind.CHANNEL, SubjectKind.TEMPLATES)
    shown = subject.name if is_channel else name_subject(subject)
    return _SENDERS.get(shown, shown)


def words_for(kind: str, about: SubjectKind | None = None) -> IncidentWords:
    """Return the words about an incident; of a kind that a newer version recorded, general ones."""
    own = (about and _OF_SUBJECTS.get(about)) or _WORDS.get(kind)
    return own or IncidentWords(f"{{}} is {kind}", "{} has recovered", lasting=f"has been {kind}")


def every() -> tuple[IncidentWords, ...]:
    """Return the words about incidents of all kinds."""
    return (*_WORDS.values(), *_OF_SUBJECTS.values())


def describe(kind: str, shown: str) -> str:
    """Return what happened to what is `shown`: `hf cannot be read`."""
    return words_for(kind).began.format(shown)
