"""How much of one record is read, whatever its source."""

MAX_ENTRY = 256 * 1024  # characters
MAX_CATEGORIES = 50
