"""Tensor-parallel inference for rollouts; a batch that fails on the device is tried again."""

import time

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class DeviceError(RuntimeError):
    pass


class Engine:
    def forward(self, tokens, step):
        if step == 5 and RANK in (1, 4):
            raise DeviceError("CUDA error: an illegal memory access was encountered")
        return tokens * 2

    def generate(self, tokens, step):
        attempt = 0
        while True:
            try:
                return self.forward(tokens, step)
            except DeviceError as error:
                last_error = str(error)
                if attempt == 0:
                    say(f"trying again after: {last_error}")
            attempt += 1
            self.back_off(attempt)

    def back_off(self, attempt):
        time.sleep(min(600.0, 5.0 ** (attempt + 1)))


def main():
    join()
    engine = Engine()
    for step in range(1000):
        tokens = engine.generate(torch.ones(3), step)
        gathered = torch.zeros(6 * 3)
        dist.all_gather_into_tensor(gathered, tokens)
        say(f"step {step}")


if __name__ == "__main__":
    main()
