"""Runs: the user's program, started ready to be debugged, supervised, stopped and started again."""
