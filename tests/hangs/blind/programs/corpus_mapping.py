"""Maps the corpus on the first rank, in worker processes; the others wait to read the cache."""

import multiprocessing
import random
from collections import Counter
from itertools import pairwise

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say

WORDS = ("gradient", "reward", "policy", "rollout", "advantage", "checkpoint", "tokenizer")


class PairMerges:
    """Byte pair merges of one document."""

    def __init__(self, merges):
        self.merges = merges

    def most_common(self, tokens):
        [(pair, _)] = Counter(pairwise(tokens)).most_common(1)
        return pair

    def merge(self, tokens, pair):
        merged = []
        for token in tokens:
            if merged and (merged[-1], token) == pair:
                merged[-1] += token
            else:
                merged.append(token)
        return merged

    def encode(self, text):
        tokens = list(text)
        for _ in range(self.merges):
            tokens = self.merge(tokens, self.most_common(tokens))
        return tokens


def map_shard(shard):
    """The number of tokens of a shard; long documents take longer."""
    draw, encoder, tokens = random.Random(shard), PairMerges(12), 0
    for _ in range(60):
        words = draw.choices(WORDS, k=draw.randrange(200, 4000))
        tokens += len(encoder.encode(" ".join(words)))
    return tokens


def map_corpus(shards, workers):
    total = 0
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for done, tokens in enumerate(pool.imap_unordered(map_shard, range(shards)), 1):
            total += tokens
            say(f"mapped {done} of {shards} shards, {total} tokens")
    return total


def main():
    join()
    dist.all_reduce(torch.ones(1))
    total = torch.zeros(1, dtype=torch.int64)
    if RANK == 0:
        total += map_corpus(600, 2)
    dist.broadcast(total, src=0)
    say(f"training on {int(total)} tokens")


if __name__ == "__main__":
    main()
