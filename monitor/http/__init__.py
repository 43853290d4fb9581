"""HTTP: one client for all sources, which addresses it may reach, and limits for each host."""

# Of a response, where a source does not allow more.
MAX_BYTES = 15 * 1024 * 1024
