"""Commands for stacks and values of processes."""
