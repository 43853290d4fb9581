"""The channel `kind: webhook`: digests as JSON, posted and signed."""
