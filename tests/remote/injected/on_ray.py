"""A program of a run on a real Ray, and the debuggers of its workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ray_cluster import Program, RayCluster
from tests.remote.injected.runs import ClusterProxies, ProxyTestClient, Run, RunDebugging

PROGRAMS = Path(__file__).parent / "programs"
SHAPES, LATE, UPLOADED = (PROGRAMS / f"{name}.py" for name in ("shapes", "late", "uploaded"))


class Started:
    """A program of the run on the cluster, with its debug proxies."""

    def __init__(self, cluster: RayCluster, run: Run, program: Program) -> None:
        self._run = run
        self._proxies = ClusterProxies(cluster)
        self.program = program

    def debug(self, name: str) -> RunDebugging:
        return RunDebugging(self._proxies.wait(name), self._run)

    def proxy_of(self, class_name: str, actor: str) -> ProxyTestClient:
        """The debug proxy of the worker of this class and name, both of which a class may share with others."""
        proxies = [self._proxies.wait(class_name)]
        while proxies[-1].latest.get("name", "") != actor:
            proxies.append(self._proxies.wait(class_name))
        for other in proxies[:-1]:
            other.close()
        return proxies[-1]

    def ends_with(self, *lines: str) -> None:
        assert self.program.wait() == 0, self.program.output()
        printed = self.program.output().splitlines()
        assert [line for line in printed if ": " in line and "INFO" not in line][-len(lines) :] == [
            *lines
        ]

    def close(self) -> None:
        self._proxies.close()
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
