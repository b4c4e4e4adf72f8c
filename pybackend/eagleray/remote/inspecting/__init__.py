"""Inspects a process that runs or hangs, without stopping it: its stacks, variables and the values of expressions."""
