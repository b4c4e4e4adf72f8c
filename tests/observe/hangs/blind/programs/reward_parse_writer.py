"""GRPO whose metrics are written by a background thread."""

import json
import queue
import threading

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class MetricWriter:
    """Writes rows in the background; leaving the scope waits until all rows are written."""

    def __init__(self):
        self.rows = queue.Queue()
        self.thread = threading.Thread(target=self._drain, name="metric-writer", daemon=True)
        self.thread.start()

    def _drain(self):
        while (row := self.rows.get()) is not None:
            json.dumps(row)

    def log(self, **row):
        self.rows.put(row)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is None:
            self.rows.put(None)
        self.thread.join()


def score(completions):
    return [float(text["answer"]) for text in completions]


def completions_of(step):
    if step == 4 and RANK == 1:
        return [{"answer": "1"}, {"text": "I cannot help with that"}]
    return [{"answer": "1"}, {"answer": "0"}]


class GRPOTrainer:
    def __init__(self, writer):
        self.writer = writer

    def policy_step(self, step):
        rewards = torch.tensor(score(completions_of(step)))
        dist.all_reduce(rewards)
        return rewards.mean()

    def fit(self):
        for step in range(1000):
            reward = self.policy_step(step)
            self.writer.log(step=step, reward=float(reward))
            say(f"step {step}")


if __name__ == "__main__":
    join()
    with MetricWriter() as writer:
        GRPOTrainer(writer).fit()
