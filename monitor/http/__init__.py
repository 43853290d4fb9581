"""HTTP: one client for all sources, which addresses it may reach, and limits for each host."""
