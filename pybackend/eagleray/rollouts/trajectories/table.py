"""The numbers of every line of a dump, some 50 bytes a line, for filters, orders, groups and statistics."""

from __future__ import annotations

import math
import threading
from array import array
from collections import Counter
from collections.abc import Sequence

from eagleray.common.l10n import t
from eagleray.rollouts.trajectories.dump import DumpLine, TrajectoryDump
from eagleray.rollouts.trajectories.formats import read_line
from eagleray.rollouts.trajectories.model import Trajectory
from eagleray.rollouts.trajectories.reading import DumpReading

# Lines between two checks of the cancellation.
BATCH = 64
# The flags of a line.
ENDED, CUT, PROBLEM, IN_TOKENS = 1, 2, 4, 8
NO_PROMPT, NO_COMPLETION, NO_GROUP, UNREAD = 16, 32, 64, 128
NO_ID = -1
# How many lines tell whether completions end with a special token, and with which id.
SAMPLE = 100


class Endings:
    """How completions of a dump end, learned from its first lines.

    A text without an end token was cut only if others have one; an id at the end counts as an end token only if at
    least half of the trajectories have it.
    """

    def __init__(self, trajectories: Sequence[Trajectory]) -> None:
        self._has_marks = any(trajectory.ended for trajectory in trajectories)
        ids = Counter(t.last_id for t in trajectories if t.last_id is not None)
        (end, count) = ids.most_common(1)[0] if ids else (NO_ID, 0)
        self._end_id = end if count > 1 and 2 * count >= ids.total() else NO_ID

    def truncated(self, ended: bool | None, last_id: int | None) -> bool | None:
        if ended is not None:
            return not ended if ended or self._has_marks else None
        if last_id is None or last_id == NO_ID or self._end_id == NO_ID:
            return None
        return last_id != self._end_id


def flags_of(trajectory: Trajectory) -> int:
    """The flags of a line."""
    ended = 0 if trajectory.ended is None else ENDED if trajectory.ended else CUT
    return (
        ended
        | (PROBLEM if trajectory.problem else 0)
        | (0 if trajectory.completion_tokens is None else IN_TOKENS)
        | (0 if trajectory.has_prompt else NO_PROMPT)
        | (0 if trajectory.has_completion else NO_COMPLETION)
        | (0 if trajectory.group else NO_GROUP)
        | (UNREAD if trajectory.other_keys is None else 0)
    )


class DumpTable:
    """A row for each item from 0 on that was read; not a number where a reward is missing."""

    def __init__(self, dump: TrajectoryDump) -> None:
        self._dump = dump
        self._lock = threading.Lock()
        self.rewards = array("d")
        self.lengths = array("q")
        self.groups = array("q")
        self.completions = array("q")
        self.last_ids = array("q")
        self.flags = array("B")
        self.formats: Counter[str] = Counter()
        # The keys of rewards that differ; the other keys of the first line that is an object.
        self.reward_keys: tuple[str, ...] = ()
        self.other_keys: tuple[str, ...] | None = None
        # Whether a line has a sample again, by another filter or judge; the key of these, and how many are further turns.
        self.repeats = array("B")
        self.variant = ""
        self.turns = 0
        self._first_parts: dict[int, str | int] = {}
        self._numbers: dict[int, int] = {}
        # The first item of each group.
        self.firsts = array("Q")
        self._endings: Endings | None = None

    @property
    def count(self) -> int:
        return len(self.flags)

    def extend(self, reading: DumpReading) -> None:
        """Reads all lines that the index has."""
        while self.count < self._dump.count:
            reading.check()
            with self._lock:
                for line in self._dump.lines(self.count, self.count + BATCH):
                    self._add(line)
            reading.progress(t("Reading trajectories"), self.count, self._dump.count)

    def endings(self) -> Endings:
        """How completions end; of the lines that the index has now."""
        if self._endings is None:
            lines = self._dump.lines(0, SAMPLE)
            endings = Endings([read_line(line.data) for line in lines])
            if self._dump.count < SAMPLE and not self._dump.is_complete:
                return endings
            self._endings = endings
        return self._endings

    def truncated(self, item: int, endings: Endings) -> bool | None:
        flags = self.flags[item]
        ended = True if flags & ENDED else False if flags & CUT else None
        return endings.truncated(ended, self.last_ids[item])

    def members(self) -> list[list[int]]:
        """The items of each group, in order."""
        members: list[list[int]] = [[] for _ in self.firsts]
        for item, group in enumerate(self.groups):
            if group >= 0 and not self.repeats[item]:
                members[group].append(item)
        return members

    def _add(self, line: DumpLine) -> None:
        trajectory = read_line(line.data)
        self.formats[trajectory.format] += 1
        reward = trajectory.reward
        self.rewards.append(math.nan if reward is None else reward)
        self.lengths.append(trajectory.completion_length)
        self.reward_keys = self.reward_keys or trajectory.rewards
        if self.other_keys is None:
            self.other_keys = trajectory.other_keys
        ids = trajectory.columns.ids
        # A missing one repeats no other.
        is_there = trajectory.has_completion or ids
        self.completions.append(hash(trajectory.completion or ids if is_there else line.item))
        self.last_ids.append(NO_ID if trajectory.last_id is None else trajectory.last_id)
        self.groups.append(self._group(trajectory, line.item))
        self.repeats.append(self._is_repeat(trajectory, self.groups[-1]))
        # Last, since its length is the number of rows.
        self.flags.append(flags_of(trajectory))

    def _is_repeat(self, trajectory: Trajectory, group: int) -> bool:
        """Whether the line has a sample of an earlier line for another filter, metric or judge; counts further turns."""
        sample = hash((group, trajectory.sample))
        if trajectory.turn is not None and group >= 0:
            first = self._first_parts.setdefault(hash(("turn", sample)), trajectory.turn)
            self.turns += first != trajectory.turn
        if not trajectory.variant or group < 0:
            return False
        key = hash((sample, trajectory.turn, trajectory.completion))
        is_repeat = self._first_parts.setdefault(key, trajectory.variant) != trajectory.variant
        if is_repeat and not self.variant:
            self.variant = trajectory.variant.partition("=")[0]
        return is_repeat

    def _group(self, trajectory: Trajectory, item: int) -> int:
        """The number of its group: by its name, else by its prompt, in the same step or file; -1 without either."""
        step = trajectory.step
        place = ("file", self._dump.file_number(item)) if step is None else ("step", step)
        if trajectory.group:
            key = hash((place, "name", trajectory.group))
        elif trajectory.prompt:
            key = hash((place, trajectory.prompt))
        else:
            return -1
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self.firsts):
            self.firsts.append(item)
        return number
