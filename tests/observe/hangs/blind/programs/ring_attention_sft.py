"""Supervised fine-tuning with ring attention: key-value blocks travel from even to odd ranks."""

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class RingAttentionEngine:
    def __init__(self, hidden: int):
        self.hidden = hidden
        self.pending = []

    def reduce_bucket(self, grads):
        self.pending.append(dist.all_reduce(grads, async_op=True))

    def exchange_kv(self, block):
        if RANK % 2 == 0:
            dist.send(block, RANK + 1)
        else:
            dist.recv(block, RANK - 1)

    def forward(self, batch, step):
        if RANK % 2 == 0 and batch.shape[1] > 32:
            raise ValueError(f"sequence of {batch.shape[1]} tokens exceeds the block size 32")
        self.exchange_kv(torch.zeros(self.hidden))
        return batch.sum()

    def shutdown(self):
        dist.destroy_process_group()


def train(engine):
    for step in range(1000):
        if RANK % 2 == 0 and step == 3:
            engine.reduce_bucket(torch.zeros(64))
        length = 48 if step == 3 else 16
        engine.forward(torch.ones(2, length), step)
        say(f"step {step}")


def main():
    join()
    engine = RingAttentionEngine(8)
    try:
        train(engine)
    finally:
        engine.shutdown()
        del engine


if __name__ == "__main__":
    main()
