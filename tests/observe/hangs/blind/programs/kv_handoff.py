"""A prefill rank hands the cache of each layer to a decode rank, which answers once it has them all."""

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say

LAYERS = 9
STAGES = 2


def layers_to_send():
    # Rounded down where the layers are split into stages.
    return STAGES * (LAYERS // STAGES)


def layers_to_receive(request):
    # The first requests are short and come from a cache without the last layer.
    return LAYERS if request >= 3 else LAYERS - 1


class Prefill:
    def hand_over(self, request):
        for layer in range(layers_to_send()):
            dist.send(torch.full((16,), float(layer)), dst=1)
        taken = torch.zeros(1)
        dist.recv(taken, src=1)


class Decode:
    def take_over(self, request):
        for _ in range(layers_to_receive(request)):
            dist.recv(torch.zeros(16), src=0)
        dist.send(torch.ones(1), dst=0)


def main():
    join()
    for request in range(100):
        if RANK == 0:
            Prefill().hand_over(request)
        else:
            Decode().take_over(request)
        say(f"request {request}")


if __name__ == "__main__":
    main()
