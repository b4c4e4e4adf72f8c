"""The client of the debug adapter's control protocol: finds the adapters, starts one, asks them."""

from __future__ import annotations

from collections.abc import AsyncIterator

from attrs import frozen

from eagleray.adapter.protocol import (
    AttachParams,
    AttachResult,
    IgnoreParams,
    Mapping,
    WorkerState,
)


@frozen
class FileOfWorker:
    """The text of a worker's file (its beginning if `truncated`) and the hash of all its bytes."""

    text: str
    truncated: bool
    sha256: str


class Adapters:
    """All adapters of this user on this machine: ours, and other versions' that still hold sessions.

    Owned by the sidecar or one run of the command line; `close` ends its connections, never an adapter.
    All methods raise errors of the catalogue only; one whose adapter is not there sees no workers.
    """

    async def workers(self) -> list[WorkerState]:
        """Every worker that is attached or held, of all adapters; starts none."""
        raise NotImplementedError

    def watch(self) -> AsyncIterator[list[WorkerState]]:
        """The workers of all adapters, again whenever one changes; never ends by itself."""
        raise NotImplementedError

    def known(self) -> list[WorkerState]:
        """What `watch` saw last, without asking; [] before its first answer."""
        raise NotImplementedError

    async def attach(self, params: AttachParams) -> AttachResult:
        """Attaches through the adapter that has the worker already, else through ours, starting it."""
        raise NotImplementedError

    async def continue_(self, session: str, worker_id: str) -> None:
        """Lets an attached or held worker run on; `unknown_worker` if no adapter has it."""
        raise NotImplementedError

    async def release(self, session: str, worker_id: str) -> None:
        """Lets a worker run on and gives it up; `unknown_worker` if no adapter has it."""
        raise NotImplementedError

    async def set_mappings(self, session: str, worker_id: str, mappings: list[Mapping]) -> None:
        """New mappings of one worker, at once."""
        raise NotImplementedError

    async def read_file(self, session: str, worker_id: str, path: str) -> FileOfWorker:
        """A file as an attached worker sees it; `no_worker_file` if it cannot read it."""
        raise NotImplementedError

    async def ignore(self, params: IgnoreParams) -> None:
        """Tells every adapter which breakpoint() of a cluster is (not) to stop at."""
        raise NotImplementedError

    async def close(self) -> None:
        """Ends the connections."""
        raise NotImplementedError
