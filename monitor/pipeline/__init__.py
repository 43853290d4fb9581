"""The flow. Stages meet only in tables, and each can be run again without harm.

sources ─> diff ─> [papers, changes] ─> match ─> [matches] ─> compose ─> [outbox] ─> deliver
bytes to   same                         which                 what, in               mail,
papers     paper?                       topics                what form              Slack, file

ingest(source)  One run for each document, its row committed before the fetch; fetching and
                parsing happen outside any transaction; each chunk of papers is one.
match()         Changes not yet matched meet the topics in force; a new topic looks back.
compose()       What is due is composed with no transaction open, then each digest frozen in
                a short one.
deliver()       A short transaction claims; the send has none open, but for the commit just
                before the last byte; a short transaction records the outcome at once.
"""
