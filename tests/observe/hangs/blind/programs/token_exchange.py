"""Routes tokens between experts with one all-to-all in each direction."""

import time

import torch
import torch.distributed as dist
from rendezvous import WORLD, join, say


class Router:
    def __init__(self, width):
        self.width = width

    def dispatch(self, tokens):
        routed = torch.empty_like(tokens)
        dist.all_to_all_single(routed, tokens)
        return routed

    combine = dispatch


def main():
    join()
    router = Router(512)
    step = 0
    while True:
        tokens = torch.ones(WORLD * router.width)
        router.combine(router.dispatch(tokens) * 2)
        say(f"step {step}")
        step += 1
        time.sleep(0.2)


if __name__ == "__main__":
    main()
