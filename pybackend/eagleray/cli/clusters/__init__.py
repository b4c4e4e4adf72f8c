"""Commands for clusters."""
