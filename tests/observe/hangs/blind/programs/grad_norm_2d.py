"""Clips gradients on a two-dimensional mesh: sharded parameters first, then replicas."""

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say
from torch.distributed.device_mesh import init_device_mesh


class MeshClipper:
    def __init__(self):
        self.mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replica", "shard"))
        self.groups = {name: self.mesh.get_group(name) for name in ("replica", "shard")}

    def order(self, norms):
        """The dimension with the larger norm is reduced first: it overflows earlier."""
        return sorted(self.groups, key=lambda name: norms[name], reverse=True)

    def clip(self, norms):
        total = torch.zeros(1)
        for name in self.order(norms):
            part = torch.tensor([norms[name]])
            dist.all_reduce(part, group=self.groups[name])
            total += part
        return total


def norms_of(step):
    row, column = divmod(RANK, 2)
    drift = 0.5 if step >= 4 and (row + column) % 2 == 0 else 0.0
    return {"replica": 1.0 + drift, "shard": 1.2}


def main():
    join()
    clipper = MeshClipper()
    for step in range(1000):
        clipper.clip(norms_of(step))
        say(f"step {step}")


if __name__ == "__main__":
    main()
