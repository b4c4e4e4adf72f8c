"""An encoder rank streams chunks to a decoder rank; tags keep the chunks apart."""

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class ChunkSender:
    def __init__(self):
        self.tag = 0

    def push(self, chunk):
        dist.send(chunk, dst=1, tag=self.tag)
        self.tag += 1

    def new_utterance(self):
        self.tag = 0


class ChunkReceiver:
    def __init__(self):
        self.tag = 0

    def pull(self):
        chunk = torch.zeros(8)
        dist.recv(chunk, src=0, tag=self.tag)
        self.tag += 1
        return chunk

    def new_utterance(self):
        pass


def main():
    join()
    link = ChunkSender() if RANK == 0 else ChunkReceiver()
    for utterance in range(100):
        link.new_utterance()
        for _ in range(3):
            if RANK == 0:
                link.push(torch.ones(8))
            else:
                link.pull()
        say(f"utterance {utterance}")


if __name__ == "__main__":
    main()
