"""How a cluster is named on the command line."""

from __future__ import annotations

CLUSTER_HELP = (
    "the cluster: 8265, host:8265, http://…, ssh://HOST/8265, slurm://JOB, ssh://HOST/slurm://JOB"
)
