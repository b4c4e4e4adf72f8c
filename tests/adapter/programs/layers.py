"""The user's function, Ray's core, the user's function again; and a breakpoint() in a library of Ray."""

import ray._private.worker
import ray.rllib


def train(config):
    lr = config["lr"]
    breakpoint()
    return lr


def driver():
    ray._private.worker.call(train, {"lr": 0.1})
    ray.rllib.sample(41)


driver()
print("done", flush=True)
