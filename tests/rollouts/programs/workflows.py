"""Workflows as AReaL's own: they request tokens by their ids, and return what a trainer takes."""

from __future__ import annotations

import numpy as np
from areal.api import ModelRequest, RolloutWorkflow


class OneTurn(RolloutWorkflow):
    def __init__(self, gconfig):
        self.gconfig = gconfig

    async def arun_episode(self, engine, data):
        gconfig = self.gconfig.new(n_samples=data.get("samples", 1))
        answer = await engine.agenerate(ModelRequest(input_ids=data["ids"], gconfig=gconfig))
        ids = answer.input_tokens + answer.output_tokens
        logprobs = [0.0] * answer.input_len + answer.output_logprobs
        versions = [-1] * answer.input_len + answer.output_versions
        return {
            "input_ids": np.array([ids], dtype=np.int32),
            "logprobs": np.array([logprobs], dtype=np.float32),
            "versions": np.array([versions], dtype=np.int32),
            "attention_mask": np.ones((1, len(ids)), dtype=bool),
            "rewards": np.array([float(answer.output_len)]),
        }


class Rejecting(RolloutWorkflow):
    async def arun_episode(self, engine, data):
        return None


class WithoutMask(RolloutWorkflow):
    async def arun_episode(self, engine, data):
        return {"input_ids": np.zeros((1, 3), dtype=np.int32)}


class AsksTheEngine(RolloutWorkflow):
    async def arun_episode(self, engine, data):
        return engine.rollout_batch([data], workflow=self)


class NotDerived:
    async def arun_episode(self, engine, data):
        return None
