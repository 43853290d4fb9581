"""What goes in a digest, when it is due, and how it is written out."""
