"""The content of digests, when they are due, and their templates."""
