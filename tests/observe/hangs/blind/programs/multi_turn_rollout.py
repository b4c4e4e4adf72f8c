"""Multi-turn rollouts with a report of all ranks at the end of each episode."""

import torch
import torch.distributed as dist
from rendezvous import RANK, WORLD, join, say


class ToolError(Exception):
    pass


class Environment:
    def call_tool(self, name, episode):
        if episode == 3 and RANK in (1, 4):
            raise ToolError(f"tool {name} returned 503")
        return {"observation": [0.0, 1.0]}


class RolloutWorker:
    def __init__(self):
        self.environment = Environment()
        self.stats = {}
        self.weights = torch.zeros(16)

    def pull_weights(self):
        dist.broadcast(self.weights, src=0)

    def push_report(self):
        reports = [None] * WORLD
        dist.all_gather_object(reports, self.stats)
        return reports

    def episode(self, episode):
        try:
            for turn in range(3):
                self.environment.call_tool("search", episode)
                self.pull_weights()
                self.stats[f"turn{turn}"] = episode
        finally:
            self.push_report()
        say(f"episode {episode}")


if __name__ == "__main__":
    join()
    worker = RolloutWorker()
    for episode in range(1000):
        worker.episode(episode)
