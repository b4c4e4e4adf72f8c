"""Stacks that somebody else has taken: dumps of py-spy and others, in files, archives or pasted text."""
