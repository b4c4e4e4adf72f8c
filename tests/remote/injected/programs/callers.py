"""Calls what it is given, from a module that has no breakpoints."""

import ray


@ray.remote(num_cpus=0)
class Caller:
    def run(self, things):
        return [thing() for thing in (*things[:-1], ray.get(things[-1]))]


@ray.remote(num_cpus=0)
def call(thing):
    return thing()
