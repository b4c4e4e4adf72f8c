"""The debug adapter: a process of its own that holds every debug connection into a cluster."""
