"""Imported while the program runs already."""

VALUE = 4  # stop: late
