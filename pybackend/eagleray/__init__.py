"""Eagleray: debugging and profiling of distributed training on Ray."""
