"""A task whose Python, named on the command line, lacks debugpy: it runs past its breakpoint() and continues."""

import sys
import threading

import ray


@ray.remote(num_cpus=0)
def passing_by():
    breakpoint()
    print("ran past it", flush=True)
    threading.Event().wait()


def main():
    ray.init(log_to_driver=False)
    ray.get(passing_by.options(runtime_env={"py_executable": sys.argv[1]}).remote())


main()
