"""The debug adapter: one process per user that holds the debug connections into clusters, and owns the routes (ssh, srun) to them."""
