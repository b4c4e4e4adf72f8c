"""Processes on nodes of Ray clusters: a job that is pinned to the node asks them, and the dashboard serves its answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
from collections.abc import Callable
from typing import Any

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import later, t
from eagleray.observe.look_inside.errors import not_inspected
from eagleray.ray.cluster_query import ClusterQuery
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import job_unfinished
from eagleray.ray.node_job import NodeJob, start_job
from eagleray.ray.rows import NodeRow
from eagleray.remote.inspecting.conversation import ProcessEnded, Unanswered
from eagleray.remote.inspecting.inspected_process import INSIDE

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
_INSPECTION = later("inspection")

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
        self._jobs.remove_left(dashboard)
        own_id = secrets.token_hex(8)
        order = {
            "key": f"_ray_pkg_eagleray_question_{own_id}",
            "answer": f"eagleray-inspection-{own_id}",
            "node": node.node_id,
            "pid": pid,
            "unasked_s": UNASKED_S,
        }
        job = await start_job(self._jobs, dashboard, _INSPECTION, _program, order)
        process = ClusterProcess(
            job, pid, lambda: self._jobs.remove(dashboard, job.id, ended=False)
        )
        try:
            await process.opened()
        except BaseException:
            await process.close()
            raise
        return process


def _program(package: str) -> str:
    return f"from {package}.inspecting.ray_job_main import main; main()"


class ClusterProcess:
    """A process that a job asks; `remove_job` is called when the conversation is over."""

    how = INSIDE
    why_outside = ""
    check_s: float | None = CHECK_S

    def __init__(self, job: NodeJob, pid: int, remove_job: Callable[[], None]) -> None:
        self.pid = pid
        self._job = job
        self._remove_job = remove_job
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
            address = self._job.dashboard.address
            raise job_unfinished(address, t("inspection"), OPEN_S) from None
        opened = announced.get("opened")
        if not isinstance(opened, dict):
            raise await self._job.failure()
        if "failed" in opened:
            raise not_inspected(self.pid, str(opened["failed"]), str(opened.get("text")))
        self.how, self.why_outside = str(opened.get("how")), str(opened.get("why_outside"))
        self.check_s = CHECK_S if self.how == INSIDE else None
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
        order = self._job.order
        await self._job.put(f"{order['key']}_{number}.zip", question)
        announced = await asyncio.wait_for(self._announcement_of(number), ANSWER_S)
        name = f"{order['answer']}-{number}.json"
        try:
            value = json.loads(await self._job.file(name, announced, LARGEST_ANSWER))
        except ValueError as error:
            raise Unanswered(str(error)) from error
        if not isinstance(value, dict):
            raise Unanswered("the answer is not an object")
        return value

    async def _announcement_of(self, number: int) -> dict[str, Any]:
        while True:
            announced = await self._announced.get()
            if self._has_ended:
                raise ProcessEnded
            # No caller waits for the answer to an earlier question any more.
            if announced.get("answer") == number:
                return announced

    async def _read_log(self) -> None:
        """Queues what the job announces, until it ends."""
        async with contextlib.aclosing(self._job.announced()) as announcements:
            async for announced in announcements:
                self._announced.put_nowait(announced)

    def _log_ended(self, _task: object) -> None:
        self._has_ended = True
        self._announced.put_nowait({})

    async def _stay_alive(self) -> None:
        while True:
            await asyncio.sleep(ALIVE_S)
            with contextlib.suppress(Unanswered, ProcessEnded):
                await self.ask("alive")
