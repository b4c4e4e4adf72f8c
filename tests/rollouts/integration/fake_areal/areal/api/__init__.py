"""The configuration of the fake."""
