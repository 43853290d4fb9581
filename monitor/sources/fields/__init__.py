"""Fields that records of all sources have, and how much of a record is read."""

MAX_ENTRY = 256 * 1024  # characters
MAX_TITLE = 20_000  # characters of mark-up: no title comes near, and each is read many times
MAX_CATEGORIES = 50
