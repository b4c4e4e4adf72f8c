"""Connections into a cluster behind one `open_stream(host, port)`."""
