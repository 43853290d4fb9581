"""Readings of each source."""
