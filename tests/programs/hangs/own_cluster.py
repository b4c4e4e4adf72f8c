"""Starts a cluster of Ray of its own, with a dashboard on the port in its argument, and waits for a task that is too large."""

import sys
import tempfile

import ray


@ray.remote(num_cpus=1000)
def train() -> None:
    pass


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="own-", dir="/tmp") as folder:
        ray.init(
            address="local",
            num_cpus=1,
            include_dashboard=True,
            dashboard_port=int(sys.argv[1]),
            object_store_memory=100_000_000,
            _temp_dir=folder,
        )
        waiting = train.remote()
        print("ready", flush=True)
        # Until this process gets SIGTERM, with which Ray ends its cluster.
        ray.get(waiting)
