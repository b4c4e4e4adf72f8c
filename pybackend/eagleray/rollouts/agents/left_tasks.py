"""Says which lines created asyncio tasks that runs left behind when they returned."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t
from eagleray.rollouts.agents.model import CodeLine, LeftTasks, Observed, WaveVerdict


@frozen
class LeftLine:
    """A line, in how many runs its tasks were left, and how many tasks."""

    place: CodeLine
    runs: int
    tasks: int

    @property
    def sentence(self) -> str:
        return counted(
            self.runs,
            "{n} run left tasks running that {call} created ({tasks} in all).",
            "{n} runs left tasks running that {call} created ({tasks} in all).",
            call=f"`{self.place.text[:60]}`" if self.place.text else self.place.function,
            tasks=self.tasks,
        )


def left_lines(observed: Observed) -> list[LeftLine] | None:
    """Returns the lines with the most tasks first; None where an agent's own task factory hides them."""
    lines: dict[tuple[str, int], LeftLine] = {}
    for run in observed.runs:
        if run.left_tasks is None:
            return None
        for left in run.left_tasks:
            _add(lines, left)
    return sorted(lines.values(), key=lambda line: -line.tasks)


def _add(lines: dict[tuple[str, int], LeftLine], left: LeftTasks) -> None:
    key = (left.place.file, left.place.line)
    line = lines.setdefault(key, LeftLine(left.place, 0, 0))
    lines[key] = evolve(line, runs=line.runs + 1, tasks=line.tasks + left.tasks)


def left_tasks(observed: Observed) -> Iterable[WaveVerdict]:
    """A line whose tasks several runs leave; what one run of many leaves may serve all of them."""
    for line in left_lines(observed) or ():
        if line.runs > 1:
            yield WaveVerdict("left-tasks", line.sentence, line.place.file, line.place.line)


def left_tasks_text(observed: Observed) -> str:
    """Describes tasks that are left without being a verdict, "" for none."""
    lines = left_lines(observed)
    if lines is None:
        return t("Tasks weren't observed: the agent has its own task factory.")
    return "\n".join(
        printable(f"{line.place.file}:{line.place.line}: {line.sentence}", 1000)
        for line in lines
        if line.runs == 1
    )
