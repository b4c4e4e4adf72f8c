"""Stands in for Ray in the tests of the adapter: pauses exactly as Ray's own breakpoint() does."""
