"""Hands on one variable by its name, as OpenRLHF does."""

from __future__ import annotations

import os

import ray
from in_workers import say, seen

ray.init(runtime_env={"env_vars": {"NCCL_DEBUG": os.environ.get("NCCL_DEBUG", "WARN")}})
say(ray.get(ray.remote(seen).remote()))
