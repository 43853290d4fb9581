"""Words of English that join others, and say nothing by themselves.

Each list that leaves out such words begins with these, or says why it does not.
"""

from __future__ import annotations

from monitor.text.tables import word_set

# Blocks are stored, and depend on these (`identity/word_rarity`): a further word belongs into the
# list that needs it.
FUNCTION_WORDS = word_set(
    "a an and are as at be but by can for from in into is it its not of on or than that the their "
    "this to we which with"
)
# With these a title begins that is the same title without them.
LEADING_WORDS = word_set("a an the on")
