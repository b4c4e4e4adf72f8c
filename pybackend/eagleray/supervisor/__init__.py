"""The supervisor process of a run."""
