"""Which local file a path of a worker is."""
