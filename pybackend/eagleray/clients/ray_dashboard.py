"""The HTTP interface of a Ray dashboard: any Ray version from 2.9.1 on, asked without importing ray.

Each method asks once and raises an error of the catalogue: `cluster-unreachable`, `cluster-slow`,
`not-ray`, `redirected`, `token-needed`, `token-refused`, `dashboard-failed`, `dashboard-busy`,
`answer-too-large`, `no-log`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from eagleray.clients.ray_values import ActorRow, JobRow, NodeRow, TaskRow, Version, WorkerRow

TokenSource = Callable[[], str | None]


class Dashboard:
    """One dashboard at `address` (`http://host:port`), used from one event loop.

    It owns its HTTP connections, which end with `close()`.  `token_source` is asked anew whenever a
    token is to be sent, which happens only after the cluster asked for one; None means that this
    cluster must not get a token (or that there is none).
    """

    def __init__(self, address: str, token_source: TokenSource = lambda: None) -> None:
        self.address = address

    async def close(self) -> None:
        raise NotImplementedError

    async def version(self) -> Version:
        """Who answers there; `not-ray` if it is something else."""
        raise NotImplementedError

    async def authentication_mode(self) -> str:
        """ "disabled", "token" or another mode of Ray; "disabled" for versions that know none."""
        raise NotImplementedError

    async def paused_workers(self) -> list[WorkerRow]:
        """Live workers of which a thread waits for a debugger: the one query that is polled (4 ms)."""
        raise NotImplementedError

    async def all_workers(self) -> list[WorkerRow]:
        """Live workers and drivers, with their debug port if they have one."""
        raise NotImplementedError

    async def running_tasks(self) -> list[TaskRow]:
        """Tasks and actor methods that run now."""
        raise NotImplementedError

    async def actors(self) -> list[ActorRow]:
        """Actors that are not dead; an actor and its worker share `(node_id, pid)`."""
        raise NotImplementedError

    async def nodes(self) -> list[NodeRow]:
        """All nodes that Ray knows, also dead ones."""
        raise NotImplementedError

    async def jobs(self) -> list[JobRow]:
        """All jobs, also ended ones, each with its runtime_env."""
        raise NotImplementedError

    async def profiling_enabled(self) -> bool:
        """Whether `traceback` may be asked."""
        raise NotImplementedError

    async def traceback(self, pid: int, node_ip: str) -> str:
        """py-spy's text of all stacks of a worker; check its title, old versions may answer for another node."""
        raise NotImplementedError

    async def log_files(self, node_id: str, pattern: str) -> list[str]:
        """Names of log files of a node that fit a glob, e.g. `worker-<worker id>-*.out`."""
        raise NotImplementedError

    async def log_file(self, node_id: str, filename: str, lines: int) -> str:
        """The last `lines` lines of a log file (-1: all of it, as far as it fits)."""
        raise NotImplementedError

    def log_stream(
        self, node_id: str, filename: str, lines: int = 0, interval_s: float = 0.25
    ) -> AsyncIterator[str]:
        """The last `lines` lines and then what is appended, until the caller closes the iterator or the node goes."""
        raise NotImplementedError
