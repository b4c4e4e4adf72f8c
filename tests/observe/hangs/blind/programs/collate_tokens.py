"""Tokenizes while collating; a statistics thread shares a lock with the tokenizer."""

import socket
import threading
import time

import torch
from rendezvous import RANK, join, say
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

STATS_LOCK = threading.Lock()
COUNTS = {}


class StatisticsServer:
    def __init__(self):
        self.connection, self.server = socket.socketpair()

    def upload(self):
        self.connection.sendall(repr(COUNTS).encode())
        if RANK:
            self.server.sendall(b"ok")
        return self.connection.recv(2)


def flush_statistics():
    server = StatisticsServer()
    while True:
        with STATS_LOCK:
            server.upload()
            COUNTS.clear()
        time.sleep(3600)


class Tokenizer:
    def encode(self, text):
        with STATS_LOCK:
            COUNTS[text] = COUNTS.get(text, 0) + 1
        return [float(ord(letter)) for letter in text]


class Collator:
    def __init__(self):
        self.tokenizer = Tokenizer()

    def __call__(self, texts):
        return torch.tensor([self.tokenizer.encode(text) for text in texts])


def main():
    join()
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    threading.Thread(target=flush_statistics, name="stats", daemon=True).start()
    time.sleep(0.5)
    loader = DataLoader(["abcd"] * 64, batch_size=4, num_workers=1, collate_fn=Collator())
    while True:
        say("epoch starts")
        for batch in loader:
            model(batch).sum().backward()
        say("epoch done")


if __name__ == "__main__":
    main()
