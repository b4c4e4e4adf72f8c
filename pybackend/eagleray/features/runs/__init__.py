"""Runs: the person's program, started ready to be debugged, kept, stopped and started again."""
