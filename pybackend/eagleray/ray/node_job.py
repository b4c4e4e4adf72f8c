"""Talks with a job of ours on the nodes of a cluster: requests are packages in Ray's store, answers are files of the job.

The job (`remote/sampling/node_job.py` is its side) announces them in its log, after a mark that no other user can guess.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from types import MappingProxyType
from typing import Any

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import translated
from eagleray.ray import job_logs
from eagleray.ray.cluster_query import ClusterQuery
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import job_failed
from eagleray.tools.code_copies import zipped_node_package
from eagleray.tools.pyspy import find_program


class NodeJob:
    """A running job of ours.  `order` has the names that it reads and writes, `what` names it in errors."""

    def __init__(
        self, dashboard: Dashboard, job: str, what: str, order: Mapping[str, Any], mark: str
    ) -> None:
        self.dashboard = dashboard
        self.id = job
        self.what = what
        self.order = order
        self._mark = mark
        self._node_id = ""

    async def put(self, key: str, request: object) -> None:
        await self.dashboard.job_api.put_package(key, json.dumps(request).encode())

    async def announced(self) -> AsyncGenerator[dict[str, Any], None]:
        """Yields what the job announces, from its beginning until it has ended."""
        text = ""
        async with contextlib.aclosing(job_logs.follow(self.dashboard, self.id)) as pieces:
            async for piece in pieces:
                *lines, text = (text + piece).split("\n")
                for line in lines:
                    if value := _announcement(line, self._mark):
                        yield value

    async def file(self, name: str, announced: Mapping[str, Any], largest: int) -> bytes:
        """Returns the content of a file that the job has announced; raises ValueError for a damaged or too large one.

        Nothing else indicates a truncated transfer than its hash.
        """
        if not self._node_id:
            self._node_id = (await self.dashboard.job_api.state(self.id)).driver_node_id
        pieces, size = [], 0
        async for piece in self.dashboard.log_bytes(self._node_id, name):
            pieces.append(piece)
            size += len(piece)
            if size > largest:
                raise ValueError("the answer is too large")
        content = b"".join(pieces)
        if hashlib.sha256(content).hexdigest() != announced.get("sha256"):
            raise ValueError("the answer arrived damaged")
        return content

    async def failure(self) -> EaglerayError:
        """The error for a job that has ended too early."""
        state = await self.dashboard.job_api.state(self.id)
        output = await self.dashboard.job_api.logs(self.id)
        ended = f"{state.status}: {state.message}\n{output}"
        return job_failed(self.dashboard.address, translated(self.what), ended)


async def start_job(
    jobs: ClusterQuery,
    dashboard: Dashboard,
    what: str,
    program: Callable[[str], str],
    order: Mapping[str, Any],
    packages: Mapping[str, bytes] = MappingProxyType({}),
) -> NodeJob:
    """Starts the text that `program` returns for the name of our package; `what` is a text that `later` marks."""
    api, mark = dashboard.job_api, secrets.token_hex(16)
    package, name, archive = await off_loop(lambda: zipped_node_package(find_program()))
    # Kept for ten minutes from this request on.
    if not await api.has_package(name):
        await api.put_package(name, archive)
    request = json.dumps({**order, "mark": mark})
    variables = {"EAGLERAY_TEXT": program(package), "EAGLERAY_ASKED": request}
    runtime_env = {"py_modules": [f"gcs://{name}"], "env_vars": variables}
    job = await jobs.submit(dashboard, what, runtime_env, secrets.token_hex(8), packages)
    return NodeJob(dashboard, job, what, order, mark)


def _announcement(line: str, mark: str) -> dict[str, Any]:
    try:
        value = json.loads(line[len(mark) :]) if line.startswith(mark) else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
