"""The use of GPUs as text: a line for the processes of a group that keep their GPUs about as busy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from eagleray.common.l10n import t
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.model import GpuRow, RankRow
from eagleray.remote.sampling.processes import RANK
from eagleray.remote.sampling.rank_sets import RankSet

_MIB_PER_GB = 1024
# Percent up to which a GPU is idle, and from which it is busy.
_IDLE, _BUSY = 5, 50


def gpu_lines(rows: Iterable[RankRow]) -> Iterator[str]:
    """`GPUs of ranks 0 and 2: 97-100 % busy, 60 GB`; nothing where nvidia-smi lists none."""
    alike: dict[tuple[str, int], list[RankRow]] = defaultdict(list)
    for row in rows:
        if row.gpus:
            alike[row.group, _load(row.gpus)].append(row)
    for members in alike.values():
        gpus = [gpu for row in members for gpu in row.gpus]
        busy = _range(percent for gpu in gpus for percent in (gpu.first, gpu.last))
        held = _range(round(gpu.memory_mib / _MIB_PER_GB) for gpu in gpus if gpu.memory_mib >= 0)
        use = [
            *([t("{percent} % busy", percent=busy)] if busy else []),
            *([t("{memory} GB", memory=held)] if held else []),
        ]
        yield t("GPUs of {processes}: {use}", processes=_names(members), use=", ".join(use) or "–")


def _names(rows: list[RankRow]) -> str:
    numbers = RankSet.of(row.rank for row in rows)
    return wording.ranks_of(numbers) if rows[0].role == RANK else f"{rows[0].group} {numbers}"


def _load(gpus: Iterable[GpuRow]) -> int:
    percents = [percent for gpu in gpus for percent in (gpu.first, gpu.last) if percent >= 0]
    if not percents:
        return -1
    return 0 if max(percents) <= _IDLE else 2 if min(percents) >= _BUSY else 1


def _range(values: Iterable[int]) -> str:
    listed = [value for value in values if value >= 0]
    if not listed:
        return ""
    low, high = min(listed), max(listed)
    return str(low) if low == high else f"{low}-{high}"
