"""The workers of a cluster: paused ones, all of them, and their logs."""
