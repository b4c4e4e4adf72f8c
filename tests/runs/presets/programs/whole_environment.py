"""Hands its whole environment to its workers, as NeMo RL does."""

from __future__ import annotations

import os

import ray
from in_workers import say, seen

ray.init(runtime_env={"env_vars": dict(os.environ)})
say(ray.get(ray.remote(seen).remote()))
