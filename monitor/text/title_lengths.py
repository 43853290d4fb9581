"""How many characters of a title are read, shown, compared and kept.

The longest titles of papers have some five hundred characters. What is longer is an abstract in
the wrong field, or hostile.
"""

from __future__ import annotations

# Of a title with mark-up, which is read several times.
MARKED_UP = 20_000
# Of a title whose formulas are made readable, and of the other titles of a paper.
SHOWN = 2_000
# When two records are compared, letter by letter: the time goes with the square.
COMPARED = 1_000
# In the store, of a record of a reference list, which may have millions.
KEPT_OF_REFERENCE = 500
# In a digest, or a reply in Slack: a longer one is cut, in digests around its first match.
IN_LIST = 300
# When a service is asked about it: Hugging Face takes no more.
ASKED = 250
# In the reason of a paper, where it is another paper's or the one before.
IN_REASON = 160
# Behind the subject, where programs show the first words of a mail.
IN_PREVIEW = 90
# In a line that lists papers one behind another.
IN_LINE = 60
