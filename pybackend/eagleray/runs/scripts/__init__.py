"""Reads shell scripts, without running anything: commands, variables, the lines that start programs."""
