"""What the words of a paper are: Unicode, LaTeX, mark-up, dashes, plurals and spellings."""

from monitor.text.cleaning import clean, without_withdrawal
from monitor.text.folding import MOST_READ, is_plain
from monitor.text.lattice import (
    Word,
    letters,
    pieces,
    plain,
    words,
    words_of_piece,
    written_in_piece,
)
from monitor.text.plurals import beginnings, form_of, singular, ways_to_write
from monitor.text.sentence_ends import sentences
from monitor.text.title_keys import title_key

__all__ = [
    "MOST_READ",
    "Word",
    "beginnings",
    "clean",
    "form_of",
    "is_plain",
    "letters",
    "pieces",
    "plain",
    "sentences",
    "singular",
    "title_key",
    "ways_to_write",
    "without_withdrawal",
    "words",
    "words_of_piece",
    "written_in_piece",
]
