"""Papers, and what they are found by."""
