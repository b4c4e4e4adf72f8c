"""Plain data-parallel training with hand-made gradient buckets."""

import time

import torch
import torch.distributed as dist
from rendezvous import join, say


class Buckets:
    def __init__(self, model, size):
        self.grads = [torch.zeros(size) for _ in model.parameters()]

    def flush(self):
        for bucket in self.grads:
            dist.all_reduce(bucket)


def main():
    join()
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
    buckets = Buckets(model, 4096)
    step = 0
    while True:
        buckets.flush()
        say(f"step {step}")
        step += 1
        time.sleep(0.2)


if __name__ == "__main__":
    main()
