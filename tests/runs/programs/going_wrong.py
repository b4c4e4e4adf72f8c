"""Errors in a user's own program, which are the same with Eagleray and without; and one line that nothing reaches."""

import os
import sys

import ray


@ray.remote(num_cpus=0)
class Dying:
    """Its process is gone before anything of it can be used."""

    def __init__(self):
        os._exit(3)  # stands: dying

    def ping(self):
        return "never"  # stands: unreached


@ray.remote(num_cpus=0)
class Whole:
    def ping(self, wrong=False):
        if wrong:
            return "not this time"  # stands: not_taken
        return "whole"


def dying():
    try:
        ray.get(Dying.remote().ping.remote())
    except ray.exceptions.RayActorError as error:
        # In one write: Ray's own lines may come between the writes of a `print` with several values.
        print(f"the actor {type(error).__name__}", flush=True)


def whole():
    print(ray.get(Whole.remote().ping.remote()), flush=True)


ray.init(log_to_driver=False)
{"dying": dying, "whole": whole}[sys.argv[1]]()
