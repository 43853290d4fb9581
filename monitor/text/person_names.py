"""The parts of a person's name: given names, family name, suffix; and their order."""

from __future__ import annotations

import re

from monitor.text.tables import word_set

# Behind the names of a person, folded. Not V: it is nearly always an initial, as in "Petrov, V.".
ORDINALS = word_set("ii iii iv 2nd 3rd 4th")
GENERATIONS = ORDINALS | word_set("jr sr")
# Of these, Md is also a given name: Md. Rahman.
DEGREES = word_set("phd md")
HONORIFICS = word_set("dr mr mrs ms prof")
A_GENERATION = rf"(?i:{'|'.join(sorted(GENERATIONS))})\.?"
A_SUFFIX = rf"(?i:{'|'.join(sorted(GENERATIONS | DEGREES))})\.?"
SUFFIX = re.compile(rf"{A_SUFFIX}$")
# "Jane R Jr", as PubMed has the given names of Jane R. Doe, Jr.
_GIVEN_AND_GENERATION = re.compile(rf"(\S.*) ({A_GENERATION})$")

# Words that begin a family name of several: Ludwig van Beethoven.
PARTICLES = word_set(
    "af al av bin da dal das de degli dei del della den der des di do dos du el ibn la las le los "
    "ten ter van vom von y zu zum zur"
)
# Words of organisations, and of large groups of authors that sign as one.
_ORGANISATION = word_set(
    "AI Association Center Centre Collaboration Committee Consortium Foundation GmbH Group Inc "
    "Inc. Institute Lab Laboratory Labs Ltd Network Project Research Society Team University"
)
# Words between the parts of a group's name. Not `FUNCTION_WORDS`: AT or FOR in capitals are names.
_LINKING = word_set("The the of for and on behalf at in")
MAX_GROUP_WORDS = 3
_ANONYMOUS = frozenset(("anonymous", "anonymized", "anonymised", "anon"))
_NOBODY = frozenset(
    (
        "n/a",
        "none",
        "not available",
        "unknown",
        "unknown author",
        "unknown authors",
        "various",
        "various authors",
        "et al",
        "et al.",
    )
)
# "Doe, Jane and Roe, Richard" are two, and "Smith & Sons, London" is none.
_BETWEEN_PARTIES = word_set("and & et und y")
_MOST_GIVEN_NAMES = 4

# Roughly as passports transliterate Cyrillic; small letters only.
CYRILLIC = str.maketrans(
    dict(zip("абвгдезийклмнопрстуфыэієґў", "abvgdeziiklmnoprstufyeiegu", strict=True))
    | {"ё": "e", "ж": "zh", "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ї": "i"}
    | {"ъ": "", "ь": "", "ю": "yu", "я": "ya", "ј": "j", "љ": "lj", "њ": "nj", "ђ": "dj", "ћ": "c"}
)


def is_group(name: str) -> bool:
    """Whether a name is that of an organisation or a group of authors that signs as one."""
    return not _ORGANISATION.isdisjoint(re.split(r"[\s,:;]+", name))


def is_anonymous(name: str) -> bool:
    """Whether a name is of no person: "Anonymous Authors", "Anonymous", "N/A"."""
    words = name.casefold().split()
    return not words or words[0].strip("().,") in _ANONYMOUS or " ".join(words) in _NOBODY


def split_person(name: str) -> tuple[str, str, str] | None:
    """Return the family name, the given names and the suffix of a name written in this order:
    given names, family name, suffix ("" if there is none).

    None for organisations, and where the family name cannot be known: a single word, a comma
    that precedes no suffix, scripts without capitals (which may have the family name first).
    """
    unsuffixed, _, suffix = (part.strip() for part in name.partition(","))
    words = unsuffixed.split()
    if not suffix and len(words) > 2 and SUFFIX.match(words[-1]):
        suffix = words.pop()
    if len(words) < 2 or (suffix and not SUFFIX.match(suffix)):
        return None
    is_person = all(
        word in PARTICLES
        or (word[0].isalpha() and word != word.lower() and word not in _ORGANISATION)
        for word in words
    )
    if not is_person:
        return None
    inner = range(1, len(words) - 1)
    begin = next((n for n in inner if words[n] in PARTICLES), len(words) - 1)
    return " ".join(words[begin:]), " ".join(words[:begin]), suffix


def split_inverted(name: str) -> tuple[str, str, str] | None:
    """Return the parts of "Doe, Jane" or "Doe, Jane, Jr.", as `split_person` does of other names.

    None for names of groups, as far as they can be known, and those without a comma.
    """
    parts = [part.strip() for part in name.split(",")]
    family, given, suffix = [*parts, "", ""][:3]
    words = given.split()
    is_person = (
        len(parts) in (2, 3)
        and all(parts)
        and not is_group(name)
        and not SUFFIX.match(given)
        and (not suffix or SUFFIX.match(suffix))
        and len(words) <= _MOST_GIVEN_NAMES
        and words[0][0].isalpha()
        and words[0] != words[0].lower()
        and not any(word.lower() in _BETWEEN_PARTIES for word in [*words, *family.split()])
    )
    return (family, given, suffix) if is_person else None


def given_name_first(name: str) -> str:
    """Turn "Doe, J. R." into "J. R. Doe"; other names stay as they are.

    A suffix goes behind the family name: "Doe, Jane, Jr." becomes "Jane Doe, Jr.".
    """
    parts = [part for part in map(str.strip, name.split(",")) if part]
    if len(parts) == 3 and SUFFIX.match(parts[2]):
        return f"{parts[1]} {parts[0]}, {parts[2]}"
    if len(parts) != 2 or SUFFIX.match(parts[1]):
        return name.strip(" ,")  # bioRxiv has a group as "Group, "
    family, given = parts
    if suffixed := _GIVEN_AND_GENERATION.match(given):
        return f"{suffixed[1]} {family} {suffixed[2]}"
    return f"{given} {family}"


def family_name(name: str) -> str:
    """Return the family name of a person, or what a group is called without "Collaboration".

    "Doe, Jane" gives "Doe", "The ATLAS Collaboration" gives "ATLAS"; of any other name the last
    word is returned.
    """
    if person := split_person(name):
        return person[0]
    before_comma, comma, _ = name.partition(",")
    words = before_comma.split()
    if is_group(before_comma):
        own = [word for word in words if word not in _ORGANISATION and word not in _LINKING]
        return " ".join(own[:MAX_GROUP_WORDS] or words)
    return before_comma.strip() if comma else " ".join(words[-1:])
