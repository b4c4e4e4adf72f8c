"""Processes on nodes of Ray clusters: a job that is pinned to the node asks them, and the dashboard serves its answers."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import secrets
from collections.abc import Callable
from typing import Any

from eagleray.common import tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.observe.look_inside.errors import not_inspected
from eagleray.ray import job_logs
from eagleray.ray.cluster_query import ClusterQuery
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import job_failed, job_unfinished
from eagleray.ray.rows import NodeRow
from eagleray.remote.inspecting.conversation import ProcessEnded, Unanswered
from eagleray.remote.inspecting.inspected_process import INSIDE
from eagleray.tools.code_copies import zipped_node_package
from eagleray.tools.pyspy import find_program

# The node starts a worker first, on a busy machine slowly.
OPEN_S = 90.0
# The job itself waits less long for the process.
ANSWER_S = 40.0
# The job ends after this long without a request, as when the window has gone; so requests come more often.
UNASKED_S = 180.0
ALIVE_S = 60.0
# Each question is two requests to the dashboard.
CHECK_S = 5.0
LARGEST_ANSWER = 32 * 2**20

log = logging.getLogger(__name__)


class ClusterProcesses:
    """Opens conversations; `close` returns when none of our jobs is left in any list."""

    def __init__(self) -> None:
        self._jobs = ClusterQuery()

    async def close(self) -> None:
        await self._jobs.close()

    async def process(
        self, dashboard: Dashboard, node: NodeRow, pid: int, report: Callable[[str], None]
    ) -> ClusterProcess:
        """Raises an error of the catalogue if the process can't be read at all."""
        report(t("Starting a job on node {node}", node=node.name or node.ip))
        api, own_id = dashboard.job_api, secrets.token_hex(8)
        self._jobs.remove_left(dashboard)
        package, name, archive = await off_loop(lambda: zipped_node_package(find_program()))
        # Kept for ten minutes from this request on.
        if not await api.has_package(name):
            await api.put_package(name, archive)
        order = {
            "key": f"_ray_pkg_eagleray_question_{own_id}",
            "answer": f"eagleray-inspection-{own_id}",
            "mark": secrets.token_hex(16),
            "node": node.node_id,
            "pid": pid,
            "unasked_s": UNASKED_S,
        }
        variables = {
            "EAGLERAY_TEXT": f"from {package}.inspecting.ray_job_main import main; main()",
            "EAGLERAY_ASKED": json.dumps(order),
        }
        job = await self._jobs.submit(
            dashboard,
            "inspection",
            {"py_modules": [f"gcs://{name}"], "env_vars": variables},
            own_id,
        )
        process = ClusterProcess(
            dashboard, job, pid, order, lambda: self._jobs.remove(dashboard, job, ended=False)
        )
        try:
            await process.opened()
        except BaseException:
            await process.close()
            raise
        return process


class ClusterProcess:
    """A process that a job asks; `remove_job` is called when the conversation is over."""

    how = INSIDE
    why_outside = ""
    check_s: float | None = CHECK_S

    def __init__(
        self,
        dashboard: Dashboard,
        job: str,
        pid: int,
        order: dict[str, Any],
        remove_job: Callable[[], None],
    ) -> None:
        self.pid = pid
        self._dashboard = dashboard
        self._job = job
        self._order = order
        self._remove_job = remove_job
        self._node = ""
        self._number = 0
        self._lock = asyncio.Lock()
        self._announced: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._has_ended = False
        self._reading = tasks.owned(self._read_log(), "log of an inspection", tasks.only_logged)
        self._reading.add_done_callback(self._log_ended)
        self._living: asyncio.Task[None] | None = None

    async def opened(self) -> None:
        """Returns when the process can be asked; raises an error of the catalogue if it can't."""
        try:
            announced = await asyncio.wait_for(self._announced.get(), OPEN_S)
        except asyncio.TimeoutError:
            raise job_unfinished(self._dashboard.address, t("inspection"), OPEN_S) from None
        opened = announced.get("opened")
        if not isinstance(opened, dict):
            raise await self._failure()
        if "failed" in opened:
            raise not_inspected(self.pid, str(opened["failed"]), str(opened.get("text")))
        self.how, self.why_outside = str(opened.get("how")), str(opened.get("why_outside"))
        self.check_s = CHECK_S if self.how == INSIDE else None
        self._node = (await self._dashboard.job_api.state(self._job)).driver_node_id
        self._living = tasks.owned(self._stay_alive(), "inspection", tasks.only_logged)

    async def ask(self, op: str, **question: Any) -> dict[str, Any]:
        async with self._lock:
            try:
                value = await self._exchange({"op": op, **question})
            except EaglerayError as error:
                raise Unanswered(f"{error} {error.logged}") from error
            except asyncio.TimeoutError:
                raise Unanswered("the job gave no answer") from None
        if value.get("failed") == "ended":
            raise ProcessEnded
        answer = value.get("answer")
        if "failed" in value or not isinstance(answer, dict):
            raise Unanswered(str(value.get("text")))
        return answer

    async def close(self) -> None:
        self._has_ended = True
        for task in (self._reading, self._living):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        # The job deletes its file and ends when it is stopped.
        self._remove_job()

    async def _exchange(self, question: dict[str, Any]) -> dict[str, Any]:
        if self._has_ended:
            raise ProcessEnded
        self._number += 1
        number = self._number
        content = json.dumps(question).encode()
        await self._dashboard.job_api.put_package(f"{self._order['key']}_{number}.zip", content)
        announced = await asyncio.wait_for(self._announcement_of(number), ANSWER_S)
        return await self._file(f"{self._order['answer']}-{number}.json", announced)

    async def _announcement_of(self, number: int) -> dict[str, Any]:
        while True:
            announced = await self._announced.get()
            if self._has_ended:
                raise ProcessEnded
            # No caller waits for the answer to an earlier question any more.
            if announced.get("answer") == number:
                return announced

    async def _file(self, name: str, announced: dict[str, Any]) -> dict[str, Any]:
        """The answer in a file of the job.  Nothing else indicates a truncated transfer than its hash."""
        pieces, size = [], 0
        async for piece in self._dashboard.log_bytes(self._node, name):
            pieces.append(piece)
            size += len(piece)
            if size > LARGEST_ANSWER:
                raise Unanswered("the answer is too large")
        content = b"".join(pieces)
        if hashlib.sha256(content).hexdigest() != announced.get("sha256"):
            raise Unanswered("the answer arrived damaged")
        value = json.loads(content)
        if not isinstance(value, dict):
            raise Unanswered("the answer is not an object")
        return value

    async def _read_log(self) -> None:
        """Queues what the job announces, until it ends."""
        mark, text = self._order["mark"], ""
        async with contextlib.aclosing(job_logs.follow(self._dashboard, self._job)) as pieces:
            async for piece in pieces:
                *lines, text = (text + piece).split("\n")
                for line in lines:
                    with contextlib.suppress(ValueError, RecursionError):
                        value = json.loads(line[len(mark) :]) if line.startswith(mark) else None
                        if isinstance(value, dict):
                            self._announced.put_nowait(value)

    def _log_ended(self, _task: object) -> None:
        self._has_ended = True
        self._announced.put_nowait({})

    async def _stay_alive(self) -> None:
        while True:
            await asyncio.sleep(ALIVE_S)
            with contextlib.suppress(Unanswered, ProcessEnded):
                await self.ask("alive")

    async def _failure(self) -> EaglerayError:
        state = await self._dashboard.job_api.state(self._job)
        output = await self._dashboard.job_api.logs(self._job)
        detail = f"{state.status}: {state.message}\n{output}"
        return job_failed(self._dashboard.address, t("inspection"), detail)
