"""Commands for workers and debug sessions."""
