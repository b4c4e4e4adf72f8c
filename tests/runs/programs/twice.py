"""Starts one Ray after another at the ports of its arguments; nothing here knows of any debugger."""

import sys

import ray


def tripled(number):
    return number * 3  # stands: tripled


for number, port in enumerate(sys.argv[1:], 1):
    ray.init(num_cpus=1, include_dashboard=True, dashboard_port=int(port))
    print("tripled", ray.get(ray.remote(tripled).remote(number)), flush=True)
    ray.shutdown()
