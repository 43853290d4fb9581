"""Fields that records of all sources have, and how much of a record is read."""

MAX_ENTRY = 256 * 1024  # characters
MAX_CATEGORIES = 50
