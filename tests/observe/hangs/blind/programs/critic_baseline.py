"""PPO with three actors: the trainer asks for rollouts, these for rewards, these for a baseline."""

import ray
from rendezvous import local_ray, rank_env, say


@ray.remote(num_cpus=0)
class Trainer:
    def __init__(self):
        self.baseline = 0.5

    def value_baseline(self):
        return self.baseline

    def fit(self, rollout, steps):
        for step in range(steps):
            samples = ray.get(rollout.generate.remote(step))
            print(f"step {step}: {samples}", flush=True)


@ray.remote(num_cpus=0)
class RolloutWorker:
    def __init__(self, reward):
        self.reward = reward

    def generate(self, step):
        texts = [f"answer {step}"]
        return ray.get(self.reward.score.remote(texts, step))


@ray.remote(num_cpus=0)
class RewardModel:
    def __init__(self, trainer):
        self.trainer = trainer

    def advantage(self, text):
        return len(text) - ray.get(self.trainer.value_baseline.remote())

    def score(self, texts, step):
        if step < 2:
            return [float(len(text)) for text in texts]
        print(f"normalising step {step}", flush=True)
        return [self.advantage(text) for text in texts]


if __name__ == "__main__":
    local_ray(2)
    trainer = Trainer.options(runtime_env=rank_env(0, 3)).remote()
    reward = RewardModel.options(runtime_env=rank_env(2, 3)).remote(trainer)
    rollout = RolloutWorker.options(runtime_env=rank_env(1, 3)).remote(reward)
    say("fitting")
    ray.get(trainer.fit.remote(rollout, 100))
