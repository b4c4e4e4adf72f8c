"""Expands SLURM's lists of nodes: `node-12,node-[22,030-032],rack[1-2]n[1-4]`."""

from __future__ import annotations

import itertools
import re

from eagleray.common.errors import EaglerayError
from eagleray.protocol.route_spec import RouteSpec, checked

# More nodes than the largest systems have.
MOST = 20_000

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def expand(nodelist: str) -> list[str]:
    """Returns the names of all nodes, in the order of the list; raises ValueError for an invalid list."""
    names: list[str] = []
    for item in _items(nodelist.strip()):
        for name in _names(item):
            names.append(_node(name))
            if len(names) > MOST:
                raise ValueError("too many nodes")
    return list(dict.fromkeys(names))


def _items(nodelist: str) -> list[str]:
    """Splits at the commas outside brackets."""
    items, depth, begin = [], 0, 0
    for at, char in enumerate(nodelist):
        depth += {"[": 1, "]": -1}.get(char, 0)
        if depth not in (0, 1):
            raise ValueError("brackets do not match")
        if char == "," and depth == 0:
            items.append(nodelist[begin:at])
            begin = at + 1
    if depth:
        raise ValueError("brackets do not match")
    return [*items, nodelist[begin:]] if nodelist else []


def _names(item: str) -> list[str]:
    pieces = re.split(r"\[([^\]]*)\]", item)
    # Every second piece was in brackets.
    choices = [[p] if at % 2 == 0 else _numbers(p) for at, p in enumerate(pieces)]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > MOST:
        raise ValueError("too many nodes")
    return ["".join(parts) for parts in itertools.product(*choices)]


def _numbers(written: str) -> list[str]:
    numbers: list[str] = []
    for part in written.split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise ValueError(f"no range of numbers: {part!r}")
        first, last = match[1], match[2] or match[1]
        if int(last) - int(first) > MOST or int(last) < int(first):
            raise ValueError(f"no range of numbers: {part!r}")
        numbers += [str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)]
        if len(numbers) > MOST:
            raise ValueError("too many nodes")
    return numbers


def _node(name: str) -> str:
    try:
        return checked(RouteSpec(job="1", node=name)).node
    except EaglerayError as error:
        raise ValueError(f"no name of a node: {name!r}") from error
