"""PyTorch's flight recorder of the process."""

from __future__ import annotations

import json
import sys

from .descriptions import LONGEST_VALUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Of the flight recorder of PyTorch, the newest.
MOST_COLLECTIVES = 100
MOST_GROUPS = 200


def flight_record() -> dict[str, Any]:
    """The newest collectives in PyTorch's flight recorder and its counters; {} without one.

    Reads only memory of the process: no rank and no GPU is asked.
    """
    module = sys.modules.get("torch._C._distributed_c10d")
    best: dict[str, Any] = {}
    # That of NCCL is separate, where PyTorch was built with it.
    for name in ("_dump_nccl_trace_json", "_dump_fr_trace_json"):
        function = getattr(module, name, None)
        if function is None:
            continue
        record = json.loads(function(True, False))
        entries = record.get("entries", [])[-MOST_COLLECTIVES:]
        if entries or not best:
            best = {
                "version": str(record.get("version", "")),
                "pg_status": record.get("pg_status", {}),
                "entries": entries,
            }
        if entries:
            break
    if best:
        best["groups"] = _joined_groups()
    return best


def _joined_groups() -> list[list[str]]:
    """The names and descriptions of the process groups that this rank has joined: the recorder has only those that it used."""
    world = getattr(sys.modules.get("torch.distributed.distributed_c10d"), "_world", None)
    names = getattr(world, "pg_names", None)
    if type(names) is not dict:
        return []
    return [
        [str(name)[:LONGEST_VALUE], str(getattr(group, "group_desc", ""))[:LONGEST_VALUE]]
        for group, name in list(names.items())[:MOST_GROUPS]
    ]
