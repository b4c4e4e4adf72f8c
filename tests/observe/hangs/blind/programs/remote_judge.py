"""Scores answers with a judge behind HTTP before each policy update."""

import json
import socket
import urllib.request

import torch
from rendezvous import RANK, join, say
from torch.nn.parallel import DistributedDataParallel


class JudgeClient:
    def __init__(self, url):
        self.url = url

    def score(self, answers):
        request = urllib.request.Request(self.url, json.dumps(answers).encode())
        with urllib.request.urlopen(request) as response:
            return json.load(response)


class RewardManager:
    def __init__(self):
        # A server whose process is alive and whose loop is not.
        self.server = socket.create_server(("127.0.0.1", 0))
        self.judge = JudgeClient(f"http://127.0.0.1:{self.server.getsockname()[1]}/score")

    def __call__(self, step):
        if RANK == 2 and step == 3:
            return self.judge.score(["42", "41"])
        return [1.0, 0.0]


def main():
    join()
    policy = DistributedDataParallel(torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    rewards = RewardManager()
    for step in range(1000):
        policy(torch.tensor(rewards(step))).backward()
        optimizer.step()
        optimizer.zero_grad()
        say(f"step {step}")


if __name__ == "__main__":
    main()
