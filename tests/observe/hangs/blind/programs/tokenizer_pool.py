"""Tokenizes in a pool of child processes that is made after the process group."""

import multiprocessing
import time

import torch
import torch.distributed as dist
from rendezvous import join, say


def serve(requests, answers):
    while True:
        text = requests.get()
        answers.put([len(word) for word in text.split()])


class TokenizerPool:
    def __init__(self, size):
        context = multiprocessing.get_context("fork")
        self.requests, self.answers = context.SimpleQueue(), context.SimpleQueue()
        for _ in range(size):
            context.Process(target=serve, args=(self.requests, self.answers), daemon=True).start()

    def encode(self, text):
        self.requests.put(text)
        return self.answers.get()


def main():
    join()
    # Gradients are exchanged once, so that all connections exist before the pool is made.
    dist.all_reduce(torch.zeros(1))
    pool = TokenizerPool(2)
    step = 0
    while True:
        tokens = pool.encode("the quick brown fox")
        if step >= 3:
            time.sleep(2)
        dist.all_reduce(torch.tensor([float(sum(tokens))]))
        say(f"step {step}")
        step += 1


if __name__ == "__main__":
    main()
