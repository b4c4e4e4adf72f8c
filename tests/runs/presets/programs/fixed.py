"""Gives its workers variables of its own and no others, as verl does before 0.6."""

from __future__ import annotations

import ray
from in_workers import say, seen

ray.init(runtime_env={"env_vars": {"NCCL_DEBUG": "WARN"}})
say(ray.get(ray.remote(seen).remote()))
