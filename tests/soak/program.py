"""The program of the soak: `program.py success|failure|wait|pause`; nothing here knows of any debugger but `pause`."""

import sys
import time

import ray


@ray.remote(num_cpus=0)
class Policy:
    def step(self, number):
        print("a step of the policy", flush=True)
        doubled = number * 2
        return doubled + 1  # stands: step


@ray.remote(num_cpus=0)
def pausing(number):
    breakpoint()
    return number + 1


def main(what):
    if what == "failure":
        raise SystemExit(3)
    if what == "wait":
        print("waiting", flush=True)
        time.sleep(3600)
    ray.init(log_to_driver=False)
    if what == "pause":
        print(ray.get(pausing.remote(1)), flush=True)
    else:
        policy = Policy.remote()
        print(ray.get(policy.step.remote(20)), flush=True)


main(sys.argv[1])
