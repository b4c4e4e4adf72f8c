"""Connections into a cluster, all behind `open_stream`."""
