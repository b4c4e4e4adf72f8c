"""An actor that imports a file with breakpoints, then comes by it again and again; before each time it says when."""

import sys
import time
from pathlib import Path

import ray


@ray.remote(num_cpus=0)
class Coming:
    def loop(self, times: int, file: str) -> None:
        Path(file).write_text(repr(time.time()))
        import arrived

        for _ in range(times):
            arrived.come(file)


def main() -> None:
    ray.init(log_to_driver=False)
    coming = Coming.remote()
    # As in a program that trains: what comes to a breakpoint has been there for a while.
    time.sleep(5)
    ray.get(coming.loop.remote(int(sys.argv[1]), sys.argv[2]))


main()
