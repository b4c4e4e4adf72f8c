"""A program of a run on a real Ray, and the debuggers of its workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.injected.runs import Debugging, GateClient, Gates, Run
from tests.ray_cluster import Program, RayCluster

PROGRAMS = Path(__file__).parent / "programs"
SHAPES, LATE, UPLOADED = (PROGRAMS / f"{name}.py" for name in ("shapes", "late", "uploaded"))


class Started:
    """A program of the run on the cluster, with its gates."""

    def __init__(self, cluster: RayCluster, run: Run, program: Program) -> None:
        self._run = run
        self._gates = Gates(cluster)
        self.program = program

    def debug(self, name: str) -> Debugging:
        return Debugging(self._gates.wait(name), self._run)

    def gate_of(self, class_name: str, actor: str) -> GateClient:
        """The gate of the worker of this class and name, both of which a class may share with others."""
        gates = [self._gates.wait(class_name)]
        while gates[-1].latest.get("name", "") != actor:
            gates.append(self._gates.wait(class_name))
        for other in gates[:-1]:
            other.close()
        return gates[-1]

    def ends_with(self, *lines: str) -> None:
        assert self.program.wait() == 0, self.program.output()
        printed = self.program.output().splitlines()
        assert [line for line in printed if ": " in line and "INFO" not in line][-len(lines) :] == [
            *lines
        ]

    def close(self) -> None:
        self._gates.close()
        self.program.end()


@contextmanager
def started(
    cluster: RayCluster,
    folder: Path,
    words: list[str],
    env: dict[str, str] | None = None,
    program: Path = SHAPES,
    **settings: Any,
) -> Iterator[Started]:
    """A program that has ended when the `with` does."""
    run = Run(folder, **settings)
    one = Started(cluster, run, cluster.run(program, *words, **run.env(**(env or {}))))
    try:
        yield one
    finally:
        one.close()
