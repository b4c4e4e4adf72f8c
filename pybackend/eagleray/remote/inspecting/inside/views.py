"""A value as a small record for a page: its shape, statistics, a part of its numbers, and its children.

A record is plain JSON of bounded size, so that records of several ranks can be compared.
"""

from __future__ import annotations

import math

from .arrays import CODES, Array, array_of, array_of_scalar, indexed, is_array
from .attributes import attribute
from .descriptions import child_count, children, described
from .expressions import evaluate
from .limits import ClientGone, Refused, check
from .memory import Unreadable, of_tensor
from .objects import (
    CONTAINERS,
    DICTIONARIES,
    SEQUENCES,
    is_numpy_scalar,
    is_tensor,
    kind_of,
    module_of,
    name_of,
    named,
    pairs_of,
    qualified_name_of,
)
from .statistics import plain_number, statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_CELLS = 128 * 128
# So many numbers are summed up within the time of a question.
MOST_SUMMED = 30_000
MOST_BRIEF = 200
_LONGEST_KEY = 100
_SHORT = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float64": "fp64"}


class ValueReading:
    """How much a process may be asked for: this one, numbers in memory of the CPU that our thread sums up.

    The reading of a stopped worker copies from devices, too, and uses numpy.
    """

    most = MOST_SUMMED
    library: Any = None

    def copied(self, tensor: Any, index: Any) -> Any:
        """A part of a tensor of a device, in memory of the CPU.  Raises Unreadable."""
        raise Unreadable(
            f"Reading the numbers of a tensor of {of_tensor(tensor, 'device')} may wait for it"
        )

    def table(self, value: Any, question: dict[str, Any]) -> dict[str, Any] | None:
        """The record of a dataframe, which only its own library reads; None for another value."""
        if is_dataframe(value):
            return {"why": "A dataframe is read in a stopped worker only"}
        return None


def view_answer(
    question: dict[str, Any],
    global_names: dict[str, Any],
    local_names: dict[str, Any],
    reading: ValueReading | None = None,
) -> dict[str, Any]:
    """The record of an expression, or with `names` short texts of these variables."""
    if "names" in question:
        texts = {}
        for name in question["names"][:MOST_BRIEF]:
            for value in (named(local_names, name) or named(global_names, name))[:1]:
                check()
                texts[name] = brief(value)
        return {"texts": texts}
    if question.get("allow_all"):
        raise Unreadable("Only a stopped worker runs code of the program here")
    value = evaluate(question["tree"], global_names, local_names)
    return view_of(value, question, reading or ValueReading())


def view_of(value: Any, question: dict[str, Any], reading: ValueReading) -> dict[str, Any]:
    kind = value.kind if type(value) is Array else type(value)
    record = {"type": qualified_name_of(kind), "module": module_of(kind), "text": described(value)}
    value = _local_part(value, record)
    if is_numpy_scalar(type(value)):
        try:
            value = array_of_scalar(value)
        except (Unreadable, Refused):
            return record
    if is_array(value):
        return {**record, **_array_view(value, question, reading)}
    table = reading.table(value, question)
    if table is not None:
        return {**record, **table}
    count = child_count(value)
    listed: list[dict[str, Any]] = []
    for name, child in children(value) if count else ():
        check()
        listed.append(_child(value, name, child, len(listed)))
    return {**record, "children": listed, "left_out": max(0, count - len(listed))}


def _local_part(value: Any, record: dict[str, Any]) -> Any:
    """The tensor of this rank in a distributed tensor."""
    kind = type(value)
    if name_of(kind) == "DTensor" and module_of(kind).startswith("torch.distributed."):
        part = attribute(value, "_local_tensor")
        if is_tensor(type(part)):
            record["local"] = True
            return part
    return value


def _array_view(value: Any, question: dict[str, Any], reading: ValueReading) -> dict[str, Any]:
    array = array_of(value)
    record = {
        "shape": list(array.shape),
        "dtype": array.dtype,
        "device": "" if array.device is None else str(array.device),
        "bytes": array.count * array.size,
    }
    try:
        if array.dtype not in CODES:
            raise Unreadable(f"Numbers of {array.dtype} aren't read")
        place = grid_place(array.shape, question)
        is_near, index = record["device"] in ("", "cpu"), _grid_index(array.shape, place)
        part = indexed(array, index) if is_near else array_of(reading.copied(value, index))
        record["grid"] = {**place, "cells": _cells(part, place)}
        if not question.get("no_statistics"):
            steps = sample_steps(array.shape, reading.most)
            summed = array if is_near else array_of(reading.copied(value, steps))
            result = statistics(summed, reading.most, reading.library)
            how = result["how"] if summed.count in (array.count, 0) else "spread"
            record["statistics"] = {**result, "of": array.count, "how": how}
    except ClientGone:
        raise
    except (Unreadable, Refused) as error:
        record["why"] = str(error)
    return record


def sample_steps(shape: tuple[int, ...], most: int) -> tuple[slice, ...]:
    """An index for every n-th number along the longest dimensions, at most `most` in all."""
    steps = [1] * len(shape)
    while math.prod(-(-size // step) for size, step in zip(shape, steps)) > most:
        left = [-(-size // step) for size, step in zip(shape, steps)]
        steps[left.index(max(left))] *= 2
    return tuple(slice(None, None, step) for step in steps)


def grid_place(shape: tuple[int, ...], question: dict[str, Any]) -> dict[str, Any]:
    """The part of an array that is shown: `at`, an index in each dimension but the last two, then rows and columns.

    All values are within the array, whatever was asked for.
    """
    height, width = (1, 1, *shape)[-2:] if len(shape) > 1 else (shape[0] if shape else 1, 1)
    given = question.get("at") or []
    at = [
        max(0, min(size - 1, given[place] if place < len(given) else 0))
        for place, size in enumerate(shape[:-2])
    ]
    place: dict[str, Any] = {"at": at}
    left = MOST_CELLS
    for name, size, usual in (("row", height, 50), ("column", width, 20)):
        step = max(1, question.get(f"{name}_step") or 1)
        first = max(0, min(size - 1, question.get(name) or 0))
        count = max(1, min(question.get(f"{name}s") or usual, left, -(-(size - first) // step)))
        left //= count
        place |= {name: first, f"{name}_step": step, f"{name}s": count if size else 0}
    return place


def _grid_index(shape: tuple[int, ...], place: dict[str, Any]) -> tuple[Any, ...]:
    parts = [
        slice(
            place[name],
            place[name] + place[f"{name}s"] * place[f"{name}_step"],
            place[f"{name}_step"],
        )
        for name in ("row", "column")
    ]
    return (*place["at"], *parts[: min(2, len(shape))])


def _cells(part: Array, place: dict[str, Any]) -> list[list[Any]]:
    numbers = [rounded(number) for number in part.numbers()]
    columns = place["columns"]
    return [numbers[first : first + columns] for first in range(0, len(numbers), max(1, columns))]


def rounded(number: Any) -> Any:
    """A number with as many digits as are shown."""
    if type(number) is float and math.isfinite(number):
        return float(f"{number:.7g}")
    return plain_number(number)


def _child(owner: Any, name: str, value: Any, place: int) -> dict[str, Any]:
    return {
        "name": name,
        "type": qualified_name_of(type(value)),
        "text": described(value, 2),
        "reach": _reach(owner, name, place),
        "count": child_count(value),
        "is_array": is_array(value) or is_dataframe(value),
    }


def _reach(owner: Any, name: str, place: int) -> str:
    """How an expression reaches a child; "" if it can't."""
    kind = kind_of(owner)
    if kind in DICTIONARIES:
        key = pairs_of(owner, place + 1)[place][0] if dict.__len__(owner) > place else None
        is_plain = type(key) in (int, bool, type(None)) or (
            type(key) is str and len(key) <= _LONGEST_KEY
        )
        return f"[{key!r}]" if is_plain else ""
    if kind in SEQUENCES:
        return f"[{place}]"
    return f".{name}" if kind not in CONTAINERS and name.isidentifier() else ""


def brief(value: Any) -> str:
    """A number, a shape or a size on a few characters; "" for anything else."""
    kind = kind_of(value)
    if kind is float:
        return f"{value:.6g}"
    if kind is int or kind is bool:
        return described(value)
    if is_numpy_scalar(type(value)):
        return described(value)[:40]
    if is_array(value):
        try:
            array = array_of(value)
            if not array.shape and type(array.memory) is not str:
                return brief(array.item())
        except (Unreadable, Refused):
            return name_of(type(value))
        sizes = ", ".join(map(str, array.shape)) + "," * (len(array.shape) == 1)
        device = "" if array.device is None else f" {array.device}"
        dtype = _SHORT.get(array.dtype, array.dtype)
        return f"{name_of(type(value))} ({sizes}) {dtype}{device}"
    if kind in (list, tuple, set, frozenset, *DICTIONARIES):
        return f"{name_of(kind)} ({len(value)})"
    return ""


def is_dataframe(value: Any) -> bool:
    kind = type(value)
    return (module_of(kind), name_of(kind)) in (
        ("pandas.core.frame", "DataFrame"),
        ("pandas.core.series", "Series"),
        ("pandas", "DataFrame"),
        ("pandas", "Series"),
    )
