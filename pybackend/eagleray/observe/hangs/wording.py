"""How verdicts name ranks, calls and places."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, listed, t
from eagleray.common.redact import redact_text
from eagleray.observe.hangs import source_lines
from eagleray.observe.hangs.activity import Doing, innermost
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.remote.inspecting.process_answers import WAITS, AwaitChain, HeldException
from eagleray.remote.sampling.frames import PythonFrame, is_users
from eagleray.remote.sampling.native import NativeFrame
from eagleray.remote.sampling.printed_exceptions import PrintedException
from eagleray.remote.sampling.processes import ACTOR, DRIVER, OTHER, RANK, Described
from eagleray.remote.sampling.rank_sets import RankSet

# More calls, or parts of a set of ranks, than these in a sentence make it a list.
_MOST_CALLS = 3
_MOST_PARTS = 8
_LONGEST_EXCEPTION = 160
# A secret that is cut off may no longer be recognized.
_READ_OF_EXCEPTION = 10_000


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
        return counted(len(numbers), "the driver", "drivers {numbers}", numbers=_listed(numbers))
    if name == OTHER:
        return counted(
            len(numbers), "process {numbers}", "processes {numbers}", numbers=_listed(numbers)
        )
    return f"{name} {_listed(numbers)}"


def Ranks(processes: Iterable[SampledProcess]) -> str:
    return _capital(ranks(processes))


def ranks_of(numbers: RankSet, group: str = "") -> str:
    """`rank 2`, `ranks 1 and 3`, `ranks 0-3, 7, and 9`; `process 4711` in the group of other processes."""
    if group == OTHER:
        return _numbered(OTHER, numbers)
    parts = str(numbers).split(",")
    if len(parts) > _MOST_PARTS:
        shown = ", ".join(parts[:_MOST_CALLS])
        return t("{n} ranks ({ranks}, …)", n=len(numbers), ranks=shown)
    return counted(len(numbers), "rank {ranks}", "ranks {ranks}", ranks=_listed(numbers))


def _listed(numbers: RankSet) -> str:
    """`2`, `1 and 3`, `0-3, 7, and 9`."""
    return listed(str(numbers).split(","))


def Ranks_of(numbers: RankSet, group: str = "") -> str:
    return _capital(ranks_of(numbers, group))


def calls(processes: Sequence[SampledProcess]) -> str:
    """`all_gather (trainer.py:88)` for each different call."""
    named = dict.fromkeys(_call(each) for each in processes)
    texts = [text for text in named if text][:_MOST_CALLS]
    return ", ".join(texts) or t("other code")


def wait_in(processes: Sequence[SampledProcess]) -> str:
    """`rank 0 waits in all_reduce (trainer.py:88)`."""
    return counted(
        len(processes),
        "{ranks} waits in {calls}",
        "{ranks} wait in {calls}",
        ranks=ranks(processes),
        calls=calls(processes),
    )


def Wait_in(processes: Sequence[SampledProcess]) -> str:
    return _capital(wait_in(processes))


def place(processes: Sequence[SampledProcess]) -> str:
    """` at load_checkpoint (trainer.py:91)`, "" without code of the user."""
    frames = dict.fromkeys(each.activity.place for each in processes if each.activity.place)
    return place_of(list(frames))


def computing_place(processes: Sequence[SampledProcess]) -> str:
    """As `place`, of the threads that have had the GIL; "" for a process of several threads if none is known to have."""
    frames: dict[PythonFrame | None, None] = {}
    for each in processes:
        names = {sample.gil_holder for sample in each.samples}
        stacks = [stack for stack in (each.stack, *each.others) if stack]
        chosen = [stack for stack in stacks if stack.thread in names or len(stacks) == 1][:1]
        frames.update((innermost(stack.frames, is_users), None) for stack in chosen)
    return place_of([frame for frame in frames if frame])


def place_of(frames: Sequence[PythonFrame]) -> str:
    """` in load_checkpoint (trainer.py:91)`, "" without frames."""
    places = [
        t("{function} ({line})", function=short_function(frame), line=line_of(frame))
        for frame in frames[:_MOST_CALLS]
    ]
    return t(" in {places}", places=", ".join(places)) if places else ""


def native(process: SampledProcess) -> str:
    """`wait_for_reply of libreply.so`; "" if the native frames of the process don't say it."""
    return _native_frame(process.native.leading if process.native else None)


def native_of_library(process: SampledProcess) -> str:
    """As `native`, of a library that is neither Python nor the C library."""
    return _native_frame(process.native.of_library if process.native else None)


def _native_frame(frame: NativeFrame | None) -> str:
    if frame is None:
        return ""
    return t(
        "{function} of {library}",
        function=printable(frame.function, 100),
        library=printable(frame.library, 60),
    )


def exceptions(processes: Sequence[SampledProcess]) -> str:
    """`ValueError('shape 3') (trainer.py:88)` for each different exception; only types where only those are known."""
    texts = dict.fromkeys(text for process in processes if (text := _exception(process)))
    names = sorted({name for process in processes for name in process.last.exceptions})
    return ", ".join(list(texts)[:_MOST_CALLS] or names)


def raised_text(held: HeldException) -> str:
    """The exception that came first of its causes, and the line of the user that raised it.

    What follows in a cleanup is often only a consequence.
    """
    first = held.causes[-1]
    place = next((frame for frame in reversed(first.frames) if is_users(frame)), None)
    return _with_line(first.text, place)


def printed_text(printed: PrintedException) -> str:
    """`ValueError: shape 3 (trainer.py:88)`."""
    return _with_line(printed.text, printed.place)


def _exception(process: SampledProcess) -> str:
    if process.raised:
        return raised_text(process.raised[0])
    return printed_text(process.printed) if process.printed else ""


def _with_line(text: str, place: PythonFrame | None) -> str:
    shown = printable(redact_text(text[:_READ_OF_EXCEPTION]), _LONGEST_EXCEPTION)
    return f"{shown} ({line_of(place)})" if place else shown


def awaited(processes: Sequence[SampledProcess]) -> str:
    """`All 12 tasks wait, 10 of them in Rollout.generate (rollout.py:41)`; "" if the tasks are not known, or not all wait."""
    chains = [chain for each in processes if each.reading for chain in each.reading.awaits]
    # The task that runs an event loop for ever waits like others.
    if not chains or any(chain.state != WAITS for chain in chains):
        return ""
    counts: Counter[str] = Counter()
    for chain in chains:
        counts[_awaited_place(chain)] += chain.tasks
    count = sum(counts.values())
    place, most = counts.most_common(1)[0]
    tasks_wait = counted(count, "Its task waits", "All {n} tasks wait")
    if count == 2:
        tasks_wait = t("Both tasks wait")
    text = tasks_wait
    if place and most == count:
        text = t("{tasks_wait} in {place}", tasks_wait=tasks_wait, place=place)
    elif place:
        text = t("{tasks_wait}, {n} of them in {place}", tasks_wait=tasks_wait, n=most, place=place)
    if sleeping := sum(chain.tasks for chain in chains if chain.sleeps):
        text = t("{text}: timers wake {n} of {all}", text=text, n=sleeping, all=count)
    return text


def _awaited_place(chain: AwaitChain) -> str:
    frame = next((frame for frame in reversed(chain.frames) if is_users(frame)), None)
    return f"{short_function(frame)} ({line_of(frame)})" if frame else ""


def branch(some: Sequence[SampledProcess], others: Sequence[SampledProcess]) -> str:
    """`: the branch at line 86 differs between ranks`, found where the stacks of both fork."""
    first, second = some[0].stack, others[0].stack
    if first is None or second is None:
        return ""
    for first_frame, second_frame in zip(first.frames, second.frames, strict=False):
        if first_frame == second_frame:
            continue
        same_function = (first_frame.function, first_frame.file) == (
            second_frame.function,
            second_frame.file,
        )
        line = (
            source_lines.branch_between(first_frame.file, first_frame.line, second_frame.line)
            if same_function
            else 0
        )
        return t(": the branch at line {line} differs between ranks", line=line) if line else ""
    return ""


def line_of(frame: PythonFrame) -> str:
    path = PurePosixPath(frame.file)
    # A package is known by its folder.
    name = "/".join(path.parts[-2:]) if path.name == "__init__.py" else path.name
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
