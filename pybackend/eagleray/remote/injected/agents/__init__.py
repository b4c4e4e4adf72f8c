"""Runs an agent of the user, once or in waves, in the user's interpreter, and reports what it does."""
