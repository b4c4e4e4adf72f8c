"""A function that torch.compile compiles, and one that it inlines there."""

import torch


def scaled(x):
    return x * 2  # inlined


def step(x):
    z = scaled(x)  # compiled
    return z + 1


breakpoint()
step = torch.compile(step, backend="eager")
print(step(torch.ones(1)).item(), flush=True)
after = 1  # plain
scaled(torch.ones(1))
print("done", after, flush=True)
