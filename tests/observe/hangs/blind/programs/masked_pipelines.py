"""Two pipelines of three stages; activations travel with a mask where a batch has padding."""

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say

STAGES = 3
PIPELINE, STAGE = divmod(RANK, STAGES)


def padded(step):
    return PIPELINE == 1 and step == 3


class Transfer:
    """Sends what the next stage needs."""

    def send_forward(self, hidden, mask):
        dist.send(hidden, RANK + 1)
        if mask is not None:
            dist.send(mask, RANK + 1)

    def recv_forward(self, wants_mask):
        hidden, mask = torch.zeros(4), None
        dist.recv(hidden, RANK - 1)
        if wants_mask:
            mask = torch.zeros(4)
            dist.recv(mask, RANK - 1)
        return hidden, mask

    def send_backward(self, grad):
        dist.send(grad, RANK - 1)

    def recv_backward(self):
        grad = torch.zeros(4)
        dist.recv(grad, RANK + 1)
        return grad


class PipelineTrainer:
    def __init__(self):
        self.transfer = Transfer()
        self.replicas = [dist.new_group([stage, stage + STAGES]) for stage in range(STAGES)]

    def step(self, step):
        hidden, mask = torch.ones(4), None
        if STAGE > 0:
            hidden, mask = self.transfer.recv_forward(padded(step))
        if STAGE < STAGES - 1:
            self.transfer.send_forward(hidden, mask)
        grad = torch.ones(4) if STAGE == STAGES - 1 else self.transfer.recv_backward()
        if STAGE > 0:
            self.transfer.send_backward(grad)
        dist.all_reduce(grad, group=self.replicas[STAGE])
        say(f"step {step}")


if __name__ == "__main__":
    join()
    trainer = PipelineTrainer()
    for step in range(1000):
        trainer.step(step)
