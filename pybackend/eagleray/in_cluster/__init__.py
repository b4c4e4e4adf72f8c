"""Code that runs inside the cluster of the person: standard library only."""
