"""On each node one actor with calls that nsys counts: five on the first node, one more on each further one."""

import os
import tempfile
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy


@ray.remote(num_cpus=0)
class PolicyWorker:
    """One worker of a training, say."""

    def sync(self, count: int) -> str:
        with tempfile.TemporaryFile() as file:
            for _ in range(count):
                file.write(b"x")
                file.flush()
                os.fsync(file.fileno())
        return f"{os.uname().nodename} {count}"


def main() -> None:
    ray.init(log_to_driver=False)
    nodes = sorted(
        (node["NodeManagerAddress"], node["NodeID"]) for node in ray.nodes() if node["Alive"]
    )
    actors: list[Any] = [
        PolicyWorker.options(
            name=f"on-{address}",
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        ).remote()
        for address, node in nodes
    ]
    for said in ray.get([actor.sync.remote(5 + i) for i, actor in enumerate(actors)]):
        print("synced:", said, flush=True)


main()
