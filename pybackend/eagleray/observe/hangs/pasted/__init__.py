"""Stacks that other tools have dumped: output of py-spy and others, in files, archives or pasted text."""
