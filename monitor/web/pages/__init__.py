"""One module for each part of the pages; each has a list of its routes."""
