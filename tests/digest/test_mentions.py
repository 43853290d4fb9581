"""What is a mention in a chat, in the values of templates and in whole messages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from monitor.channels.apprise.channel import without_mentions as of_apprise
from monitor.digest.chat_messages import escape_markdown, escape_zulip
from monitor.digest.mentions import break_mentions, without_mentions

MENTIONS = ("@everyone", "@here", "@all", "<@1>", "<!channel>", "<#C1>", "@**all**", "@_ada")


@pytest.mark.parametrize("mention", MENTIONS)
@pytest.mark.parametrize(
    "parted", [break_mentions, without_mentions, of_apprise, escape_markdown, escape_zulip]
)
def test_a_mention_is_parted_wherever_a_chat_would_read_it(
    parted: Callable[[str], str], mention: str
) -> None:
    text = parted(f"{mention} of {mention}")
    assert mention not in text
    assert parted(mention[0]) != mention[0], "what follows may be the name"
    again = without_mentions(text)
    assert again == text, "parted once"


def test_what_is_no_mention_stays() -> None:
    text = "p < 0.05 @ home and https://z.example/@a<b"
    assert without_mentions(text) == text, "links of a message lead where they did"
    assert break_mentions("p < 0.05 @ home") == "p < 0.05 @ home"
    assert "/@everyone" not in break_mentions("https://z.example/@everyone"), "a title is no link"
