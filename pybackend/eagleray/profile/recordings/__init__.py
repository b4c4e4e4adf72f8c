"""Profiles workers with nsys: recordings, and the collection of their reports."""
