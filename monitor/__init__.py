"""Paper Monitor: reads papers as they appear, finds what is new, tells who asked, once."""
