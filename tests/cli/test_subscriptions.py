"""`subscriptions` and `topics list`: who gets what, by a name or an address."""

from __future__ import annotations

from tests.cli.conftest import SUNDAY, Say
from tests.house import House


def test_subscriptions_are_named_by_their_name_or_a_recipient_in_any_case(lived: House, say: Say):
    lived.by_mail(25, "ada@example.org")
    other = {"topics": ["agents"], "email": ["Ada@example.org", "bob@example.org"]}
    lived.settings["subscriptions"]["other"] = other | {"schedule": "immediately"}
    for who, names in {
        "": ["lab", "other"],
        "lab": ["lab"],
        "ADA@example.org": ["lab", "other"],
    }.items():
        words = ["subscriptions", *([who] if who else []), "--json", "--now", SUNDAY]
        assert [known["name"] for known in say(*words).json["subscriptions"]] == names
    [known] = say("subscriptions", "bob@example.org", "--json", "--now", SUNDAY).json[
        "subscriptions"
    ]
    assert known["next"] is None
    assert known["recipients"] == ["Ada@example.org", "bob@example.org"]
    shown = say("subscriptions", "bob@example.org", "--now", SUNDAY).out
    assert "as soon as there is news" in shown
    wrong = say("subscriptions", "bub@example.org")
    assert (wrong.status, wrong.out) == (2, "")
    assert "did you mean “bob@example.org”?" in wrong.err


def test_a_topic_is_listed_with_the_number_of_its_subscriptions(lived: House, say: Say):
    lived.settings["topics"]["unused"] = {"query": "word", "title": "Unused"}
    lived.settings["subscriptions"]["lab"]["topics"] = ["agents"]
    listed = say("topics", "--json", "--now", SUNDAY).json["topics"]
    assert [(t["name"], t["title"], t["subscriptions"], t["papers_7_days"]) for t in listed] == [
        ("agents", "agents", 1, 1),
        ("unused", "Unused", 0, 0),
    ]
    assert "language AND agent" in say("topics", "--now", SUNDAY).out
