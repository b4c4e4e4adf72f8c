"""Reads reports of nsys: one database, summarized into tables."""
