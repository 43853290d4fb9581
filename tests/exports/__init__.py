"""What other programs make of exports: rispy, BibTeX, biber, citation-js and pandoc read them.

`python -m tests.exports` reads all papers of the dumps, those with odd letters in a file of real
ones, and hostile ones, and compares what each program says of them with what was written.
"""
