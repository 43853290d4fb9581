"""The meaning of a topic's tree: which papers match, by which words, and how well."""
