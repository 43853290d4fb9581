"""Reading the words of a text: Unicode, LaTeX, mark-up, dashes, plurals and spellings."""

from monitor.text.cleaning import MAX_DIGITS as MAX_DIGITS
from monitor.text.cleaning import PLACEHOLDERS as PLACEHOLDERS
from monitor.text.cleaning import clean as clean
from monitor.text.cleaning import whole_number as whole_number
from monitor.text.cleaning import without_next_fields as without_next_fields
from monitor.text.cleaning import without_placeholder as without_placeholder
from monitor.text.cleaning import without_withdrawal as without_withdrawal
from monitor.text.folding import MAX_TEXT_LENGTH as MAX_TEXT_LENGTH
from monitor.text.folding import is_plain as is_plain
from monitor.text.folding import title_key as title_key
from monitor.text.lattice import Word as Word
from monitor.text.lattice import cut as cut
from monitor.text.lattice import plain as plain
from monitor.text.lattice import sign_pattern as sign_pattern
from monitor.text.lattice import words as words
from monitor.text.lattice import words_of_piece as words_of_piece
from monitor.text.lattice import words_to_find as words_to_find
from monitor.text.lattice import written_between as written_between
from monitor.text.person_names import CYRILLIC as CYRILLIC
from monitor.text.person_names import PARTICLES as PARTICLES
from monitor.text.person_names import SUFFIX as SUFFIX
from monitor.text.person_names import family_name as family_name
from monitor.text.person_names import split_person as split_person
from monitor.text.plurals import form_of as form_of
from monitor.text.plurals import singular as singular
from monitor.text.plurals import ways_to_write as ways_to_write
