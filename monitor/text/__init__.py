"""What the words of a text are: Unicode, LaTeX, mark-up, dashes, plurals and spellings.

cleaning        removes control characters, extra spaces and placeholders; reads whole numbers
folding         folds case, accents, LaTeX and tags for comparing; the key of a title
lattice         splits a folded text into words
person_names    splits a person's name into its parts
plurals         one form for singular and plural
spelling        one form for British and American spelling
sentence_ends   splits a text into sentences
tables          reads the tables of this package
"""

from monitor.text.cleaning import (
    MAX_DIGITS,
    PLACEHOLDERS,
    clean,
    whole_number,
    without_next_fields,
    without_placeholder,
    without_withdrawal,
)
from monitor.text.folding import MAX_TEXT_LENGTH, is_plain, title_key
from monitor.text.lattice import (
    Word,
    cut,
    letters,
    plain,
    sign_pattern,
    words,
    words_of_piece,
    written_in_piece,
)
from monitor.text.person_names import CYRILLIC, PARTICLES, SUFFIX, family_name, split_person
from monitor.text.plurals import beginnings, form_of, singular, ways_to_write
from monitor.text.sentence_ends import sentences

__all__ = [
    "CYRILLIC",
    "MAX_DIGITS",
    "MAX_TEXT_LENGTH",
    "PARTICLES",
    "PLACEHOLDERS",
    "SUFFIX",
    "Word",
    "beginnings",
    "clean",
    "cut",
    "family_name",
    "form_of",
    "is_plain",
    "letters",
    "plain",
    "sentences",
    "sign_pattern",
    "singular",
    "split_person",
    "title_key",
    "ways_to_write",
    "whole_number",
    "without_next_fields",
    "without_placeholder",
    "without_withdrawal",
    "words",
    "words_of_piece",
    "written_in_piece",
]
