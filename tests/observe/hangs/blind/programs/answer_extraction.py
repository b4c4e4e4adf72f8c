"""Extracts answers from completions in a thread while the policy is updated."""

import queue
import re
import threading
import time

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say

ANSWER = re.compile(r"^(\\boxed\{)?((\d+\s?)+)+\}$")


class AnswerExtractor:
    def __init__(self):
        self.texts = queue.Queue()
        self.answers = queue.Queue()
        threading.Thread(target=self.run, name="extract", daemon=True).start()

    def run(self):
        while True:
            self.answers.put(self.extract(self.texts.get()))

    def extract(self, text):
        found = ANSWER.match(text)
        return found.group(2) if found else ""


class Updater:
    def __init__(self):
        self.extractor = AnswerExtractor()

    def step(self, step):
        long = RANK == 0 and step == 4
        self.extractor.texts.put("1" * 60 + "!" if long else "12}")
        if long:
            time.sleep(0.5)
        self.update()
        say(f"step {step}")

    def update(self):
        grad = torch.ones(4)
        dist.all_reduce(grad)


if __name__ == "__main__":
    join()
    updater = Updater()
    for step in range(1000):
        updater.step(step)
