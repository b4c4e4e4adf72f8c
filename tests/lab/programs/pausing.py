"""On each node one actor that stops at its breakpoint() again and again; it says how often it continued."""

import sys

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy


@ray.remote(num_cpus=0)
class Pausing:
    """One worker of a training, say."""

    def __init__(self, node: str) -> None:
        self.node = node

    def loop(self) -> None:
        step = 0
        while True:
            breakpoint()
            step += 1  # stands: pausing
            print(f"{self.node} went on {step}", file=sys.stderr, flush=True)


def main() -> None:
    ray.init()
    nodes = sorted(node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"])
    ids = {node["NodeManagerAddress"]: node["NodeID"] for node in ray.nodes()}
    wanted = sys.argv[1:] or nodes
    actors = [
        Pausing.options(
            name=f"on-{node}",
            scheduling_strategy=NodeAffinitySchedulingStrategy(ids[node], soft=False),
        ).remote(node)
        for node in wanted
    ]
    running = [actor.loop.remote() for actor in actors]
    # One of them may die with its node; the others stay.
    ray.wait(running, num_returns=len(running))


main()
