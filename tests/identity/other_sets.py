"""Pairs of records as other catalogues write them: one work, and two."""

from monitor.model import Paper

TITLE = "Learning to Plan with Language Agents in Open Worlds"
ABSTRACT = (
    "We study how language agents learn to plan in open worlds. Our method searches over "
    "programs and reuses what it finds. On three benchmarks it halves the number of steps."
)
OTHER = (
    "Protein folding remains a challenge for molecular dynamics. We present a sampler that "
    "respects symmetries and show that it reaches equilibrium in a tenth of the time."
)
REVIEW = (
    "This is a protocol for a review. The objectives are as follows: to assess what {} does in "
    "adults with {}, in trials of any length, wherever they were made and however they ended."
)
AUTHORS = ("Ada Lovelace", "Alan M. Turing", "Grace Hopper")
ONE = ("Ada Lovelace",)


def by(title=TITLE, authors=AUTHORS, **more):
    return Paper(title, authors=authors, **more)


def at(venue, year=None, **more):
    return by(venue=venue, year=year, **more)


def swapped(one, other, *rest):
    """Two titles of one form by the same people, with other words in one place."""
    return by(one.join(rest)), by(other.join(rest))


SAME = {
    "lower case, no year, the venue by its name": (
        at("NeurIPS", 2023),
        by(
            TITLE.lower(),
            ("ada lovelace", "alan turing", "grace hopper"),
            venue="Advances in Neural Information Processing Systems 36",
        ),
    ),
    "a journal abbreviated": (
        at("Phys. Rev. Lett.", 2021),
        at("Physical Review Letters", 2021),
    ),
    "the family names abbreviated, not the given ones": (
        by(authors=("A. Lovelace", "A. Turing", "G. Hopper")),
        by(authors=("L. Ada", "T. Alan", "H. Grace")),
    ),
    "P2P": swapped("Peer-to-Peer", "P2P", "Plans for Hybrid ", " Routing"),
    "tutorial notes": (
        by("Planning Agents"),
        by("Conference Tutorial Notes: Planning Agents, Proc VLDB"),
    ),
    "initials behind, in one string": (by(), by(authors=("Lovelace A, Turing AM, Hopper G",))),
    "as BibTeX writes a list": (
        by(),
        by(authors=("Lovelace, Ada and Turing, Alan M. and Hopper, Grace",)),
    ),
    "German, transliterated": (
        by("Über die Lösung großer Gleichungssysteme", ("Jürgen Groß", "A. Weiß")),
        by("Ueber die Loesung grosser Gleichungssysteme", ("J. Gross", "A. Weiss")),
    ),
    "Cyrillic names": (
        by(authors=("Юрий Иванов", "Анна Петрова")),
        by(authors=("Yuri Ivanov", "Anna Petrova")),
    ),
    "Chinese": (
        by("基于深度学习的图像分类方法研究", ("张伟", "李小明"), year=2020),
        by("基于深度学习的图像分类方法研究", ("张伟", "李小明"), year=2021),
    ),
    "chemistry": (
        by("Role of Ca<sup>2+</sup> in &alpha;-synuclein aggregation of neurons"),
        by("Role of Ca2+ in α-synuclein aggregation of neurons"),
    ),
    "by its initials": (
        by("Efficient Fine-Tuning of Large Language Models on Graphs"),
        by("Efficient Finetuning of LLMs on Graphs"),
    ),
    "the title cut short": (by(), by("Learning to Plan with Language Agents ...")),
    "the place left behind the title": (
        by("Implementing Data Cubes Efficiently"),
        by("Implementing data cubes efficiently. In: Proc. SIGMOD, May 1996, available by FTP"),
    ),
    "authors run into the title, with given names that the other abbreviates": (
        by(f"{TITLE.lower()} grace hopper , ada lovelace and alan turing icml", ()),
        by(authors=("A. Lovelace", "A. M. Turing", "G. Hopper")),
    ),
    "authors run into the title, one of three misspelt": (
        by(f"{TITLE.lower()} ada lovelace , alan turign , grace hopper", ()),
        by(),
    ),
    "one number in two notations": (
        by("Lectures on Agents, Part II: Planning"),
        by("Lectures on agents II: planning"),
    ),
    "one author, retitled, the abstract kept": (
        by(authors=ONE, abstract=ABSTRACT, year=2022),
        by("Program Search for Planning", ONE, abstract=ABSTRACT, year=2023),
    ),
    "nobody named, one long title of one year": (
        by("Report on the Fourth Colloquium on Submodular Crowdsourcing", (), year=2003),
        by("Report on the fourth colloquium on submodular crowdsourcing.", year=2003),
    ),
}

DIFFERENT = {
    "counted off by signs": (by("Agents I: Planning"), by("Agents II: Acting")),
    "of a series": (
        by("Planets around evolved stars. IV. A giant in the desert"),
        by("Planets around evolved stars. V. A dwarf in the desert"),
    ),
    "a sequel": (by(), by(f"{TITLE} II")),
    "other people with the initials turned, but for one": (
        by("Planning", ("A. Lovelace", "G. Hopper"), year=2023),
        by("Planning", ("L. Ada", "T. Grace"), year=2023),
    ),
    "another version of a system": swapped("v7", "v8", "YOLO", ": trainable, real-time detectors"),
    "another release": swapped("Tenth", "Eleventh", "The ", " Data Release of the Open Sky Survey"),
    "another energy": swapped("7", "13", "Jet production in collisions at ", " TeV"),
    "Teil": swapped("1", "2", "Einführung in die Planung, Teil ", ""),
    "Chinese parts": (by("深度学习综述（一）", ("张伟",)), by("深度学习综述（二）", ("张伟",))),
    "a reply": (by(abstract=ABSTRACT), by(f"Reply to: {TITLE}")),
    "a retraction": (by(abstract=ABSTRACT), by(f"Retraction Note: {TITLE}")),
    "its supporting information": (by(), by(f"Supporting Information: {TITLE}")),
    "its appendix": (by(), by(f"Appendix to {TITLE}")),
    "its data": (by(), by(f"Data for: {TITLE}")),
    "its protocol": swapped("", "protocol for ", "Sport for migraine: ", "a randomised trial"),
    "front matter": (
        by("Front Matter", (), venue="J. Agents", year=2001),
        by("Front Matter", (), venue="J. Agents", year=2001),
    ),
    "a column, mistyped": (
        by("Book Rewiev Column", ONE, venue="SIGMOD Record", year=2001),
        by("Book Review Column", ONE, venue="SIGMOD Record", year=2002),
    ),
    "authors' replies": (by("Author's reply", ONE), by("Authors' reply", ONE)),
    "one word, one author": (by("Agents", ONE), by("Agents", ONE, year=1999)),
    "each year's overview": swapped("2019", "2020", "Overview of the ", " Lab on Language Agents"),
    "sides": swapped("left", "right", "Hippocampal volume of the ", " hemisphere in mice"),
    "with and without": swapped("with", "without", "Convergence of gradient descent ", " momentum"),
    "countries": swapped("Kenya", "Ghana", "Prevalence of diabetes in ", ": a survey of clinics"),
    "two conferences": (at("NeurIPS", 2019), at("CVPR", 2021)),
    "a common name, a common title": (
        by("Deep Learning for Image Classification", ("Wei Wang",), abstract=ABSTRACT),
        by("Deep Learning for Image Classification", ("Wei Wang",), abstract=OTHER),
    ),
    "a title in which the family names are words, and given names are known": (
        by(f"{TITLE} of young minds that live long and are fit for no king", ()),
        by(authors=("Ann Young", "B. Long", "Carl King")),
    ),
    "a form filled in twice": (
        by("Amber for colds in adults: a review", abstract=REVIEW.format("amber", "colds")),
        by("Basil for asthma in adults: a review", abstract=REVIEW.format("basil", "asthma")),
    ),
}
