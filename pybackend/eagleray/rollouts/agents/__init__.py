"""Runs the user's agent, once or in waves, against an inference server."""
