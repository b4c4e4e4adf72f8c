"""Reads dumps of trajectories."""
