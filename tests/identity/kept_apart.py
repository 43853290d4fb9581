"""Pairs of papers of one group, of columns and numbers: one work, and two."""

from monitor.model import Paper
from tests.identity.other_sets import AUTHORS

# What a group says in each of its papers, and what it says in one of them.
ALWAYS = (
    "Walking machines that carry loads over rough ground must keep their balance while the load "
    "swings. In our laboratory a machine with six legs and a soft gripper was built, and its "
    "software reads the load cells of every leg a hundred times a second."
)
ONE = (
    "Here the swing is damped by a pendulum model whose length is learnt from twenty strides, so "
    "that the machine crosses gravel without a fall and needs a third less power than before."
)
OTHER = (
    "Here a camera under the belly maps footholds with a small network, and a planner chooses the "
    "flattest of them, so that stairs of any height are climbed and descended by night as by day."
)
EDITED = ONE.replace("needs a third less power than before", "uses a third less energy")
# The first abstract with every sentence edited.
REWORKED = (
    "Machines that walk and carry loads over rough ground keep their balance badly while the load "
    "swings. We built a machine with six legs and a soft gripper; its software reads the load "
    "cells of all legs a hundred times a second. The swing is damped by a pendulum model, and its "
    "length is learnt from twenty strides. Then the machine crosses gravel without falling and "
    "needs less power than before."
)
TITLE = "Damping Load Swing on Walking Machines with a Learnt Pendulum"


def by(title=TITLE, abstract=f"{ALWAYS} {ONE}", authors=AUTHORS, **more):
    return Paper(title, abstract=abstract, authors=authors, **more)


def said(number, title="Compressing Pendulum Networks to {} of Memory", **more):
    text = f"{ALWAYS} {ONE} All of it fits a chip that costs a euro and lasts for ten years."
    return by(title.format(number), text, **more)


SAME = {
    "a title at one conference in two years, with a subtitle": (
        by("Damping Load Swing", venue="IROS", year=2009),
        by("Damping Load Swing: A Learnt Pendulum", venue="IROS", year=2010),
    ),
    "online in one year, in print in the next": (
        by(venue="Journal of Field Machines", year=2019),
        by(f"On {TITLE}", f"{ALWAYS} {EDITED}", venue="Journal of Field Machines", year=2020),
    ),
    "retitled between two conferences, with the abstract kept": (
        by(venue="ICLR", year=2019),
        by("Pendulum Models for Loads That Swing", venue="ICML", year=2020),
    ),
    "submitted to one conference, its abstract reworked for another": (
        by(venue="ICLR", year=2019),
        by(abstract=f"{ALWAYS} {OTHER}", venue="ICML", year=2020),
    ),
    "one dimension in two spellings": (
        by("Three-Dimensional Pendulums on Legs"),
        by("3-D Pendulums on Legs"),
    ),
    "one number revised": (said("<1MB"), said("<0.5MB")),
    "one limit revised, in title and abstract": (
        by(
            "Pendulum Networks in <1MB of Memory",
            f"{ALWAYS} {ONE} It takes less than 1MB, 461x less.",
        ),
        by(
            "Pendulum Networks in <0.5MB of Memory",
            f"{ALWAYS} {ONE} It takes less than 0.5MB, 510x less.",
        ),
    ),
    "retitled, the abstract reworked throughout, in two plain lists": (
        by("Damping Load Swing with a Pendulum", f"{ALWAYS} {ONE}"),
        by("Walking Machines That Damp Load Swing", REWORKED),
    ),
    "words before a title that has others": (
        by("Load Swing Damping by Camera", venue="arXiv"),
        by("Robust Load Swing Damping by Legs", f"{ALWAYS} {OTHER}", venue="Field Machines"),
    ),
    "a response that is none": (
        by("Immune Response of Walking Patients to Swinging Loads"),
        by("Immune Responses of Walking Patients to Swinging Loads"),
    ),
    "turned round": (
        by("Swing Estimation Using Pendulum Histograms", ""),
        by("Using Pendulum Histograms for Swing Estimation", ""),
    ),
    "everybody listed twice": (by(year=2006), by(year=2006, authors=AUTHORS * 2)),
    "two ids of one archive under one abstract": (
        by(keys={"arxiv": "2401.01234"}),
        by(keys={"arxiv": "2402.04321"}),
    ),
}

DIFFERENT = {
    "two conferences in two years, one abstract": (
        by("Home Service by a Walking Machine", venue="ICRA", year=2006),
        by("Calling from the Next Room: Machines That Come", venue="IROS", year=2007),
    ),
    "more on it at another conference": (
        by(venue="ICRA", year=2006),
        by(
            f"{TITLE} and Anisotropic Footholds",
            REWORKED,
            venue="IROS",
            year=2007,
        ),
    ),
    "the second of a series, in plain lists": (
        by("OmniWalker: A Machine That Damps Load Swing"),
        by("OmniWalker-II: A Machine That Damps Load Swing"),
    ),
    "one subject, begun in other words, without abstracts": (
        by(
            "Algorithms for materialized view design in data warehousing environment",
            "",
            venue="VLDB",
            year=1997,
        ),
        by(
            "Tackling the challenges of materialized view design in data warehousing environment",
            "",
            venue="RIDE",
            year=1997,
        ),
    ),
    "two papers of a group in plain lists, by one author more": (
        by("Damping Load Swing with a Pendulum", f"{ALWAYS} {ONE}"),
        by("Walking Machines That Damp Load Swing", REWORKED, (*AUTHORS, "Emmy Noether")),
    ),
    "one conference in two years": (
        by(venue="ICRA", year=2006),
        by(f"Optimal {TITLE}", venue="ICRA", year=2007),
    ),
    "one conference by its letters and by its name": (
        by(venue="IROS", year=2006),
        by(
            f"Robust {TITLE}",
            venue="2007 IEEE/RSJ International Conference on Intelligent Robots and Systems (IROS)",
            year=2007,
        ),
    ),
    "two papers of a group at one conference": (
        by("Speech-Based Pendulum Control of Machines", venue="ICRA", year=2009),
        by(
            "Vision-Based Pendulum Control of Machines",
            f"{ALWAYS} {OTHER}",
            venue="ICRA",
            year=2009,
        ),
    ),
    "two papers of a group at one conference, no abstracts": (
        by("Speech-Based Pendulum Control of Machines", "", venue="ICRA", year=2009),
        by("Vision-Based Pendulum Control of Machines", "", venue="ICRA", year=2009),
    ),
    "two papers of a group, of no known place": (
        by("Parallel Pendulums for Walking Machines"),
        by("Serial Pendulum Subchains for Walking Machines", f"{ALWAYS} {OTHER}"),
    ),
    "two rare words each": (
        by("Walking Machines That Avoid Group Conflicts"),
        by("Walking Machines That Avoid Target Congestion", f"{ALWAYS} {OTHER}"),
    ),
    "a column of two years": (
        by("Vice Chair's Message", "", AUTHORS[:1], venue="Legs and Wheels", year=1999),
        by("Vice Chair's Message", "", AUTHORS[:1], venue="Legs and Wheels", year=2000),
    ),
    "a column that nobody signs": (
        by("Career Forum", "", (), year=2003),
        by("Career Forum", "", (), year=2004),
    ),
    "two editorials of one title with two PMIDs": (
        by("Balance and the Swinging Load", "", AUTHORS[:1], keys={"pmid": "10000001"}),
        by("Balance and the Swinging Load", "", AUTHORS[:1], keys={"pmid": "10000002"}),
    ),
    "one title at two conferences, by one of the authors": (
        by(venue="ICLR", year=2019),
        by(abstract=f"{ALWAYS} {OTHER}", authors=AUTHORS[:1], venue="ICML", year=2020),
    ),
    "a column and one with a subject": (
        by("Editor's Introduction to the Special Issue", "", AUTHORS[:1], year=2003),
        by(
            "Editor's Introduction to the Special Issue: Swinging Loads",
            "",
            AUTHORS[:1],
            year=2004,
        ),
    ),
    "number words": (
        by("Two Snake Machines That Lift", ""),
        by("Three Snake Machines That Lift", ""),
    ),
    "dimensions": (
        by("2D Pendulums on Legs", f"{ALWAYS} {ONE} So it is in 2D."),
        by("3-D Pendulums on Legs", f"{ALWAYS} {ONE} So it is in 3-D."),
    ),
    "another number that the abstract names, too": (
        said("2", "Pendulum Network Release {}"),
        by("Pendulum Network Release 3", f"{ALWAYS} {ONE} This is the 3rd release of ten."),
    ),
    "a response to it": (by(), by(f"Response to {TITLE}")),
    "an authors' response": (by(), by(f"Authors' Response: {TITLE}")),
}
