"""Balances the load of experts with an auxiliary loss."""

import time

import torch
import torch.distributed as dist
from rendezvous import join, say


class LoadBalancer:
    def __init__(self, experts):
        self.load = torch.zeros(experts)

    def observe(self, choices):
        self.load += torch.bincount(choices, minlength=len(self.load))

    def synchronise(self):
        dist.all_reduce(self.load)


def main():
    join()
    balancer = LoadBalancer(4)
    step = 0
    while True:
        balancer.observe(torch.randint(4, (32,)))
        balancer.synchronise()
        say(f"step {step}")
        step += 1
        time.sleep(0.05)


if __name__ == "__main__":
    main()
