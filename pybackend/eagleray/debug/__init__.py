"""Debugs workers: lists them, maps their sources, attaches to them."""
