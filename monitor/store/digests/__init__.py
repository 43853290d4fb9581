"""Digests and their deliveries."""
