"""Looks at processes from outside: pictures of all stacks, and values inside."""
