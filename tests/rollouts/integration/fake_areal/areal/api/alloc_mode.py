"""Parses `sglang:d2t4`, as the real one does for these letters and `p`."""

from __future__ import annotations

import re
from types import SimpleNamespace


class ModelAllocation(SimpleNamespace):
    @staticmethod
    def from_str(text: str, name: str) -> ModelAllocation:
        backend, _, sizes = text.partition(":")
        parts = dict(re.findall(r"([a-z])(\d+)", sizes))
        parallel = SimpleNamespace(tp_size=int(parts.get("t", 1)), pp_size=int(parts.get("p", 1)))
        return ModelAllocation(backend=backend, parallel=parallel)
