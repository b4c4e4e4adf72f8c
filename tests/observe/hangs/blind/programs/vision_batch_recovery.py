"""Trains on image-text pairs; a batch that cannot be decoded saves a recovery checkpoint."""

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class ImageDecodeError(RuntimeError):
    pass


class VisionTrainer:
    def __init__(self):
        self.model = torch.nn.Linear(4, 4)

    def decode(self, step):
        if RANK == 2 and step == 5:
            raise ImageDecodeError("truncated JPEG at shard-00017/000431.jpg")
        return torch.ones(2, 4)

    def save(self, tag):
        dist.barrier()
        if RANK == 0:
            torch.save(self.model.state_dict(), "/dev/null")
        say(f"saved {tag}")

    def sync_gradients(self):
        for parameter in self.model.parameters():
            dist.all_reduce(parameter.grad)

    def step(self, step):
        images = self.decode(step)
        self.model(images).sum().backward()
        self.sync_gradients()
        say(f"step {step}")

    def run(self):
        step = 0
        while True:
            try:
                self.step(step)
            except ImageDecodeError as error:
                say(f"recovering: {error}")
                self.save(f"recovery-{step}")
            step += 1


if __name__ == "__main__":
    join()
    VisionTrainer().run()
