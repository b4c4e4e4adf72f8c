"""Debugging: attaching to paused workers, continuing them, ignoring their breakpoints."""
