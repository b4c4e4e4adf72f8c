"""A replay buffer that refills itself with tasks when it runs low."""

import ray
from rendezvous import local_ray, rank_env, say


@ray.remote(num_cpus=0)
def collect_episode(buffer, seed):
    print(f"collecting episode {seed}", flush=True)
    schedule = ray.get(buffer.exploration.remote())
    return [seed + schedule] * 4


@ray.remote(num_cpus=0)
class ReplayBuffer:
    def __init__(self):
        self.rows = [0.0] * 8
        self.handle = None

    def adopt(self, handle):
        self.handle = handle

    def exploration(self):
        return 0.1

    def refill(self):
        print("buffer is low, refilling", flush=True)
        episodes = [collect_episode.remote(self.handle, seed) for seed in range(2)]
        for rows in ray.get(episodes):
            self.rows.extend(rows)

    def sample(self, count):
        if len(self.rows) < count:
            self.refill()
        batch, self.rows = self.rows[:count], self.rows[count:]
        return batch


@ray.remote(num_cpus=0)
class Learner:
    def __init__(self, buffer):
        self.buffer = buffer

    def train(self):
        step = 0
        while True:
            ray.get(self.buffer.sample.remote(4))
            print(f"step {step}", flush=True)
            step += 1


if __name__ == "__main__":
    local_ray(2)
    buffer = ReplayBuffer.options(runtime_env=rank_env(0, 2)).remote()
    ray.get(buffer.adopt.remote(buffer))
    learner = Learner.options(runtime_env=rank_env(1, 2)).remote(buffer)
    say("training")
    ray.get(learner.train.remote())
