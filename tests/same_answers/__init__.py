"""Compares what two commits answer to the same inputs: `make same-answers BASE=COMMIT`.

inputs    what both are given: records, topics, configurations, commands
answers   runs all of it with one commit, and writes each answer down
compare   the differences, and those that `intended.toml` lists
"""
