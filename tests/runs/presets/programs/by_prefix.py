"""Hands on the variables that begin with its name, as RLinf does."""

from __future__ import annotations

import os

import ray
from in_workers import say, seen

ray.init()
own = {name: value for name, value in os.environ.items() if name.startswith("RLINF_")}
say(ray.get(ray.remote(seen).options(runtime_env={"env_vars": own}).remote()))
