"""Text-to-SQL with GRPO: both learners wait while one grader runs the queries of their rollouts."""

import random
import sqlite3

import ray
from rendezvous import local_ray, rank_env, say

REFERENCE = """
    SELECT a.team, COUNT(*) FROM orders AS a JOIN orders AS b
    ON a.price + :fee < b.price WHERE a.id <= :rows GROUP BY a.team
"""
# The policy likes to join each order with all others, and to compare texts.
GENERATED = """
    SELECT a.team, COUNT(*) FROM orders AS a, orders AS b
    WHERE a.id <= :rows AND a.note || 'a' < b.note GROUP BY a.team
"""


@ray.remote(num_cpus=0)
class SqlGrader:
    """Owns the database; grades one rollout after the other."""

    def __init__(self, orders):
        draw = random.Random(7)
        self.database = sqlite3.connect(":memory:")
        self.database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, team, price, note)")
        rows = ((draw.randrange(40), draw.random(), f"{draw.random():.4f}") for _ in range(orders))
        self.database.executemany("INSERT INTO orders (team, price, note) VALUES (?, ?, ?)", rows)

    def answer(self, query, values):
        return dict(self.database.execute(query, values).fetchall())

    def reward(self, values):
        expected = self.answer(REFERENCE, values)
        answer = self.answer(GENERATED, values)
        return sum(expected.get(team) == count for team, count in answer.items()) / 40

    def grade(self, rank, rollout):
        rewards = []
        for values in rollout:
            rewards.append(self.reward(values))
            print(f"graded {len(rewards)} of {len(rollout)} of rank {rank}", flush=True)
        return rewards


@ray.remote(num_cpus=0)
class Learner:
    def __init__(self, rank, grader):
        self.rank = rank
        self.grader = grader
        self.draw = random.Random(rank)

    def rollout(self, samples):
        return [
            {"rows": self.draw.randrange(500, 2500), "fee": self.draw.random()}
            for _ in range(samples)
        ]

    def advantages(self, rewards):
        mean = sum(rewards) / len(rewards)
        return [reward - mean for reward in rewards]

    def train(self, steps, samples):
        for step in range(steps):
            rollout = self.rollout(samples)
            rewards = ray.get(self.grader.grade.remote(self.rank, rollout))
            print(f"step {step}: {max(self.advantages(rewards))}", flush=True)


if __name__ == "__main__":
    local_ray(2)
    grader = SqlGrader.remote(6000)
    learners = [
        Learner.options(runtime_env=rank_env(rank, 2)).remote(rank, grader) for rank in range(2)
    ]
    say("training")
    ray.get([learner.train.remote(3, 300) for learner in learners])
