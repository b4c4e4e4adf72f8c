"""Compares two engines on the same prompts: token ids, greedy tokens and logprobs."""
