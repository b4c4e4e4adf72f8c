"""Stacks of all processes of a node, merged: travels to nodes, and needs only the standard library of Python 3.9."""
