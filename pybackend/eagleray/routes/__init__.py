"""Connections into a cluster, owned by the debug adapter: directly, over ssh, or through a step of a SLURM job."""
