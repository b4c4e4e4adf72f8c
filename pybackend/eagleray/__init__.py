"""Eagleray: debugging and profiling of distributed training on Ray."""

__version__ = "0.1.0"
