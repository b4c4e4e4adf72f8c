"""Debug runs: what a framework needs so that its training is short and leaves no trace, kept in tables."""
