"""Each kind of worker at rest: named actors with and without RANK, __init__, nested, post-mortem, idle, driver."""

import ray

POST_MORTEM = {"env_vars": {"RAY_DEBUG_POST_MORTEM": "1"}}


@ray.remote(num_cpus=0)
class Policy:
    def train(self):
        print("\x1b[32mtraining begins\x1b[0m\nWANDB_API_KEY=hunter22", flush=True)
        breakpoint()  # train
        return 1

    def ready(self):
        return True


@ray.remote(num_cpus=0)
class Slow:
    def __init__(self):
        breakpoint()  # init
        self.made = True

    def ready(self):
        return self.made


@ray.remote(num_cpus=0)
def inner():
    breakpoint()  # nested
    return 1


@ray.remote(num_cpus=0)
def outer():
    return ray.get(inner.remote())


@ray.remote(num_cpus=0, max_retries=0)
def failing():
    raise ValueError("bad reward")


def main():
    ray.init(log_to_driver=False)
    first = Policy.options(name="policy_0").remote()
    second = Policy.options(name="policy_9", runtime_env={"env_vars": {"RANK": "1"}}).remote()
    quiet = Policy.options(name="quiet_3").remote()
    ray.get(quiet.ready.remote())
    slow = Slow.remote()
    waiting = [first.train.remote(), second.train.remote(), slow.ready.remote(), outer.remote()]
    waiting.append(failing.options(runtime_env=POST_MORTEM).remote())
    breakpoint()  # driver
    ray.wait(waiting, num_returns=len(waiting))


main()
