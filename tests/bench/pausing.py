"""Actors that stand at a breakpoint() for ever anew; a line on stdin makes the next one begin."""

import sys

import ray


@ray.remote(num_cpus=0)
class Pausing:
    """Pauses again as soon as it is let go."""

    def ready(self) -> bool:
        return True

    def loop(self) -> None:
        count = 0
        while True:
            count += 1
            breakpoint()
            count += 0


def main() -> None:
    ray.init(log_to_driver=False)
    actors = [
        Pausing.options(name=f"pausing-{index}").remote() for index in range(int(sys.argv[1]))
    ]
    ray.get([actor.ready.remote() for actor in actors])
    print("ready", flush=True)
    running = []
    for actor, _ in zip(actors, sys.stdin, strict=False):
        running.append(actor.loop.remote())
    ray.wait(running, num_returns=len(running))


main()
