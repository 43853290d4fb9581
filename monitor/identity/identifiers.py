"""The form of identifiers: what an arXiv id and a DOI look like, wherever they stand.

`monitor.sources.fields.identifiers` finds them in records, `monitor.identity.keys` compares them.
"""

# 0704.0001 .. 9912.99999, and before April 2007 archive[.class]/YYMMNNN; without the version.
# https://info.arxiv.org/help/arxiv_identifier.html
ARXIV_ID = r"\d{4}\.\d{4,5}|[a-z][a-z-]*(?:\.[a-z]{2})?/\d{7}"
DOI_PREFIX = r"10\.\d{4,9}/"
