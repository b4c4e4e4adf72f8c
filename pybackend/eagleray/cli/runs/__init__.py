"""Commands for runs and presets."""
