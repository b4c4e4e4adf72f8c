"""PyTorch's flight recorder of the process."""

from __future__ import annotations

import json
import types

from .descriptions import LONGEST_VALUE
from .objects import in_class, of_module, pairs_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The newest collectives of PyTorch's flight recorder.
MOST_COLLECTIVES = 100
MOST_GROUPS = 200


def flight_record() -> dict[str, Any]:
    """The newest collectives in PyTorch's flight recorder and its counters; {} without one.

    Reads only memory of the process: no rank and no GPU is asked.
    """
    best: dict[str, Any] = {}
    # NCCL's recorder is separate, where PyTorch was built with it.
    for name in ("_dump_nccl_trace_json", "_dump_fr_trace_json"):
        functions = of_module("torch._C._distributed_c10d", name)
        if not functions or type(functions[0]) is not types.BuiltinFunctionType:
            continue
        record = json.loads(functions[0](True, False))
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
    joined = []
    for groups in of_module("torch.distributed.distributed_c10d", "_pg_names"):
        for group, name in pairs_of(groups, MOST_GROUPS) if issubclass(type(groups), dict) else ():
            joined.append([text_of(name)[:LONGEST_VALUE], _description(group)])
    return joined


def _description(group: Any) -> str:
    """The description of a group, which C++ reads; a group of the program may have another one in its place."""
    for entry in in_class(type(group), "group_desc"):
        if type(entry) is property and type(entry.fget) is types.BuiltinFunctionType:
            return text_of(entry.fget(group))[:LONGEST_VALUE]
    return ""
