"""How verdicts name ranks, calls and places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from eagleray.common.l10n import t
from eagleray.features.hangs.activity import Doing
from eagleray.features.hangs.evidence import SampledProcess
from eagleray.sampling.frames import PythonFrame
from eagleray.sampling.processes import ACTOR, DRIVER, RANK, Described
from eagleray.sampling.rank_sets import RankSet

# More calls, or parts of a set of ranks, than these in a sentence make it a list.
_MOST_CALLS = 3
_MOST_PARTS = 8


def ranks(processes: Iterable[SampledProcess]) -> str:
    """The ranks; other processes by what they are: `the driver, Trainer 0-1, process 4711`."""
    by_name: dict[str, list[int]] = defaultdict(list)
    for each in processes:
        by_name[_kind(each.process)].append(each.rank)
    return ", ".join(_numbered(name, RankSet.of(numbers)) for name, numbers in by_name.items())


def _kind(process: Described) -> str:
    return process.group if process.role == ACTOR else process.role


def _numbered(name: str, numbers: RankSet) -> str:
    if name == RANK:
        return ranks_of(numbers)
    if name == DRIVER:
        return t("the driver") if len(numbers) == 1 else t("drivers {numbers}", numbers=numbers)
    return f"{name} {numbers}"


def Ranks(processes: Iterable[SampledProcess]) -> str:
    return _capital(ranks(processes))


def ranks_of(numbers: RankSet) -> str:
    """`rank 2`, `ranks 1 and 3`, `ranks 0-3, 7 and 9`."""
    if len(numbers) == 1:
        return t("rank {rank}", rank=numbers)
    parts = str(numbers).split(",")
    if len(parts) == 1:
        return t("ranks {ranks}", ranks=parts[0])
    if len(parts) > _MOST_PARTS:
        shown = ", ".join(parts[:_MOST_CALLS])
        return t("{n} ranks ({ranks}, …)", n=len(numbers), ranks=shown)
    return t("ranks {ranks} and {last}", ranks=", ".join(parts[:-1]), last=parts[-1])


def Ranks_of(numbers: RankSet) -> str:
    return _capital(ranks_of(numbers))


def calls(processes: Sequence[SampledProcess]) -> str:
    """`all_gather (trainer.py:88)` for each different call."""
    named = dict.fromkeys(_call(each) for each in processes)
    listed = [text for text in named if text][:_MOST_CALLS]
    return ", ".join(listed) or t("other code")


def place(processes: Sequence[SampledProcess]) -> str:
    """` at load_checkpoint (trainer.py:91)`, "" if there is no code of the user."""
    frames = dict.fromkeys(each.activity.place for each in processes if each.activity.place)
    listed = [
        t("{function} ({line})", function=short_function(frame), line=line_of(frame))
        for frame in list(frames)[:_MOST_CALLS]
    ]
    return t(" in {places}", places=", ".join(listed)) if listed else ""


def line_of(frame: PythonFrame) -> str:
    name = PurePosixPath(frame.file).name
    return f"{name}:{frame.line}" if frame.line else name


def short_function(frame: PythonFrame) -> str:
    return frame.function.rpartition("<locals>.")[2]


def _call(process: SampledProcess) -> str:
    activity = process.activity
    frame = activity.place
    name = activity.call or (short_function(frame) if frame else "")
    if activity.doing is Doing.IN_KERNEL and frame:
        name = short_function(frame)
    if not name:
        return ""
    return f"{name} ({line_of(frame)})" if frame else name


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
