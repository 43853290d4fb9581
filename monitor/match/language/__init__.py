"""The topic language: text to tree."""
