"""Ray clusters: found, added, watched, and why one of them shows nothing."""
