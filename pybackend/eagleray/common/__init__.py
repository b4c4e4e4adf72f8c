"""Modules for every layer, with the standard library only."""
