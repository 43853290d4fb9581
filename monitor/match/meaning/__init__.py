"""What a topic's tree means: which papers match, by which words, and how well."""
