"""Actors that each run one line once all are asked for; `many_actors.py COUNT` ends when all have run it."""

import sys

import ray


@ray.remote(num_cpus=0)
class Rank:
    def begin(self, rank: int) -> int:
        return rank  # stop: here


def main() -> None:
    ray.init(log_to_driver=False)
    ranks = [Rank.remote() for _ in range(int(sys.argv[1]))]
    ray.get([rank.begin.remote(number) for number, rank in enumerate(ranks)])


main()
