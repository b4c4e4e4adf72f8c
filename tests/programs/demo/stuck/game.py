"""Two players who wait for each other's score, so that the game never ends."""

import time

import ray


@ray.remote(num_cpus=0)
class Player:
    def meet(self, other: object) -> None:
        self.other = other

    def play(self) -> int:
        # Both have begun to play before either is asked for its score.
        time.sleep(1)
        return ray.get(self.other.score.remote())

    def score(self) -> int:
        return 21


def main() -> None:
    ray.init(log_to_driver=False)
    alice, bob = (Player.options(name=name).remote() for name in ("alice", "bob"))
    ray.get([alice.meet.remote(bob), bob.meet.remote(alice)])
    print("the game begins", flush=True)
    print(ray.get([alice.play.remote(), bob.play.remote()]), flush=True)


if __name__ == "__main__":
    main()
