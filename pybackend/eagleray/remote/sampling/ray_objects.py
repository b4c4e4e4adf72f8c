"""The objects for which `ray.get` and `ray.wait` wait, as the memory of their references tells."""

from __future__ import annotations

import re

from . import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_FILES = ("ray/_private/worker.py", "ray/util/placement_group.py")
# The arguments of `get`, `get_objects`, `wait` and `_call_placement_group_ready` (Ray 2.9 to 2.60).
_ARGUMENTS = ("object_refs", "ray_waitables", "pg_id")
_REFERENCE = re.compile(r"<(?:[\w.]+\.)?(?:ObjectRef|PlacementGroupID) at 0x([0-9a-f]{1,16})>")
_MOST = 24
# The id of an object is within its reference: 28 bytes, of which the first 24 are the id of its task (Ray 2.60: after 40).
_SIZE = 96
# Stands for further objects.
MORE = "…"


def awaited_objects(pid: int, frames: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """The references in `frames` of py-spy with variables, as the hexadecimal digits of their memory; `MORE` stands for
    those that it doesn't show.
    """
    shown = next(
        (
            str(variable["repr"])
            for frame in frames
            if str(frame["filename"]).endswith(_FILES)
            for variable in frame.get("locals") or []
            if variable["name"] in _ARGUMENTS
        ),
        "",
    )
    addresses = [int(digits, 16) for digits in _REFERENCE.findall(shown)]
    contents = [proc.memory(pid, each, _SIZE).hex() for each in dict.fromkeys(addresses[:_MOST])]
    is_cut = "..." in shown or len(addresses) > _MOST
    return (*filter(None, contents), *([MORE] if is_cut else []))
