"""What was read of each source."""
