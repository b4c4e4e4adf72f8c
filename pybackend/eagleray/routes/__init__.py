"""Connections into a cluster: directly, over ssh, or through a step of a SLURM job."""
