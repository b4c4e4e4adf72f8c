"""Two policy ranks send their samples to judge tasks; a pool keeps a judge warm."""

import ray
from rendezvous import local_ray, rank_env, say


@ray.remote(num_cpus=0, resources={"judge": 1})
def judge(texts):
    return [len(text) for text in texts]


@ray.remote(num_cpus=0, resources={"judge": 1})
class WarmJudge:
    def ready(self):
        return True


@ray.remote(num_cpus=0)
class PolicyRank:
    def __init__(self, rank):
        self.rank = rank

    def reward(self, texts):
        return ray.get(judge.remote(texts))

    def train(self, phase, steps):
        for step in range(steps):
            print(f"rank {self.rank} {phase} step {step}", flush=True)
            self.reward(["a", "bb"])


if __name__ == "__main__":
    local_ray(2, {"judge": 1})
    ranks = [PolicyRank.options(runtime_env=rank_env(rank, 2)).remote(rank) for rank in range(2)]
    ray.get([rank.train.remote("warm-up", 2) for rank in ranks])
    pool = [WarmJudge.remote()]
    ray.get([warm.ready.remote() for warm in pool])
    say("judges are warm")
    ray.get([rank.train.remote("main", 50) for rank in ranks])
