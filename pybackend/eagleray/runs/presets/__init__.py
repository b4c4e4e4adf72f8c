"""Presets of debug runs: what a framework needs for a short training that leaves nothing behind, in tables."""
