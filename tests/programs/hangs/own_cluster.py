"""Starts a cluster of Ray of its own, and waits for a task that is too large.

Its arguments are the port of the dashboard, and that on which the agent tries to take jobs, as on a machine where another
Ray may have that.
"""

import functools
import sys
import tempfile

import ray
from ray._private import parameter


@ray.remote(num_cpus=1000)
def train() -> None:
    pass


if __name__ == "__main__":
    # `ray start` has an option for it, `ray.init` has none.
    parameter.RayParams = functools.partial(  # type: ignore[misc,assignment]
        parameter.RayParams, dashboard_agent_listen_port=int(sys.argv[2])
    )
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
