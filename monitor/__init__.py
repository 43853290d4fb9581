"""Paper Monitor: reads papers as they appear, and sends each subscriber the new ones once."""
