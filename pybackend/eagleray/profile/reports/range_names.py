"""Groups the names of ranges that differ only in a parameter, such as the number of a step."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain

PARAMETER = "*"
# More different numbers at one place of a name are a parameter; layers and experts are fewer.
MOST_NUMBERS = 512
# Text that torch.autograd.profiler.emit_nvtx appends (torch/csrc/profiler/util.cpp); a long name is cut.
_OF_TORCH = re.compile(
    r"(?:, (?:seq|op_id) = -?\d+|, (?:sizes|input_op_ids) = \[[^\n]*?(?:\](?=,|$)|$))+$"
)
# Numbers behind these words count what repeats.  "layer 3" and "rank 3" are things of their own.
_COUNTED = re.compile(
    r"(?<![A-Za-z])((?:global|train|training|decode|eval)?[ _-]?(?:step|iter|iteration|epoch"
    r"|micro[ _-]?batch|mb|request|req|sample|token|seq|op_id)(?:[ _-]?(?:id|idx|index|num|number))?"
    r"[ _:=#.-]{0,3})\d+",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")


def group_name(name: str) -> str:
    """The name with `*` for what counts, without what torch appends."""
    return _COUNTED.sub(rf"\1{PARAMETER}", _OF_TORCH.sub("", name))


def merged_names(names: Iterable[str]) -> Mapping[str, str]:
    """The group of each name: numbers are replaced where a place has very many different ones."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        alike[_NUMBER.sub("0", name)].append(name)
    groups: dict[str, str] = {}
    for same in alike.values():
        if len(same) <= MOST_NUMBERS:
            groups.update((name, name) for name in same)
            continue
        numbers = [_NUMBER.findall(name) for name in same]
        varies = [len(set(column)) > MOST_NUMBERS for column in zip(*numbers, strict=True)]
        before, *between = _NUMBER.split(same[0])
        for name, own in zip(same, numbers, strict=True):
            shown = (PARAMETER if at else number for at, number in zip(varies, own, strict=True))
            groups[name] = before + "".join(chain(*zip(shown, between, strict=True)))
    return groups
