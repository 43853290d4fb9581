"""One module for each part of the pages; each has its `routes`."""
