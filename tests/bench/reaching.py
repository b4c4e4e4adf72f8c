"""An actor that comes by the same line again and again; before each time it says when."""

import sys
import time
from pathlib import Path

import ray


@ray.remote(num_cpus=0)
class Coming:
    def loop(self, times: int, file: str) -> None:
        for _ in range(times):
            Path(file).write_text(repr(time.time()))
            times += 0  # stop: here


def main() -> None:
    ray.init(log_to_driver=False)
    ray.get(Coming.remote().loop.remote(int(sys.argv[1]), sys.argv[2]))


main()
