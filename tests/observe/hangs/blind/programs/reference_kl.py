"""PPO with three policy ranks and one rank that serves the reference model."""

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class Groups:
    def __init__(self):
        self.by_role = {"policy": dist.new_group([0, 1, 2])}

    def get(self, role):
        return self.by_role.get(role)


class PolicyRank:
    def __init__(self, groups):
        self.groups = groups

    def role(self, step):
        # Rank 1 was resumed from a checkpoint of before roles were renamed.
        return "actor" if RANK == 1 and step >= 3 else "policy"

    def average_kl(self, step):
        kl = torch.tensor([0.01 * step])
        dist.all_reduce(kl, group=self.groups.get(self.role(step)))
        return kl / 3

    def run(self):
        for step in range(1000):
            self.average_kl(step)
            say(f"step {step}")
            self.beat()

    def beat(self):
        beat = torch.ones(1)
        dist.all_reduce(beat)


class ReferenceRank(PolicyRank):
    def average_kl(self, step):
        return torch.zeros(1)


if __name__ == "__main__":
    join()
    groups = Groups()
    (ReferenceRank if RANK == 3 else PolicyRank)(groups).run()
