"""Runs agents in processes of a pool, with the server in the environment alone (AReaL's mode `subproc`)."""

from __future__ import annotations

import asyncio
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial

from .await_line import suspended_at
from .code_locations import location_of, user_frame
from .errors import described
from .http_clients import record_clients
from .http_recording import HttpRecord, HttpRecorder, current_run
from .import_guard import guard_process
from .left_tasks import begin_tasks, watch_tasks
from .printing import Printed, current_print, watch_prints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from .item_run import ItemRun

# For a process whose clean-up doesn't end either.
_AGAIN_S = 1.0


class AgentEnded(Exception):
    """The process of the agent has ended without an answer."""


class TimedOut(BaseException):
    """Raised in the process of an agent; what catches Exception doesn't swallow it."""

    def __init__(self, location: dict[str, Any] | None) -> None:
        super().__init__()
        self.location = location


class AgentProcesses:
    """Owns the pool; `close` ends its processes.  `slots` are as many as it has processes."""

    def __init__(
        self, agent: Any, plan: dict[str, Any], recorder: HttpRecorder, workers: int
    ) -> None:
        self._agent = agent
        self._environment = environment_of(plan["base_url"], plan["api_key"])
        self._recorder = recorder
        self._workers = workers
        self._pool = self._new_pool(workers)
        self.slots = asyncio.Semaphore(workers)

    async def run(self, run: ItemRun, data: Any, timeout_s: float | None) -> None:
        """Raises `AgentEnded` if the agent ended its process."""
        answer = await self._answer(data, timeout_s)
        record: HttpRecord = answer["record"]
        run.record.__dict__.update(record.__dict__)
        run.printed, run.left_tasks = answer["printed"], answer["left_tasks"]
        self._recorder.requests += len(record.exchanges) + answer["unattributed"]
        self._recorder.unobserved.count += answer["unobserved"]
        self._recorder.unattributed += answer["unattributed"]
        self._recorder.tokens += sum(exchange.tokens for exchange in record.exchanges)
        if answer["outcome"] == "timeout":
            run.ended("timeout", answer["location"])
        elif answer["outcome"] == "failed":
            run.outcome, run.error = "failed", answer["error"]
        else:
            run.returned(answer["value"])

    def close(self) -> None:
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False)
        for process in processes:
            process.terminate()

    async def _answer(self, data: Any, timeout_s: float | None) -> dict[str, Any]:
        pool = self._pool
        try:
            return await self._submitted(pool, data, timeout_s)
        except BrokenProcessPool:
            if pool is self._pool:
                self._pool = self._new_pool(self._workers)
        # One agent ended its process, which broke the pool for all: each of them runs again, alone.
        alone = self._new_pool(1)
        try:
            return await self._submitted(alone, data, timeout_s)
        except BrokenProcessPool as error:
            raise AgentEnded("the process of the agent has ended") from error
        finally:
            alone.shutdown(wait=False)

    def _new_pool(self, workers: int) -> ProcessPoolExecutor:
        # Its processes import the agent's module where they are not forked.
        module = type(self._agent).__module__
        return ProcessPoolExecutor(workers, initializer=guard_process, initargs=(module,))

    async def _submitted(
        self, pool: ProcessPoolExecutor, data: Any, timeout_s: float | None
    ) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        call = partial(run_agent, self._agent, data, self._environment, timeout_s)
        return await loop.run_in_executor(pool, call)


def environment_of(base_url: str, api_key: str) -> dict[str, str]:
    """The variables that the framework sets, read in its `_run_agent`; Anthropic's clients add `/v1` themselves."""
    root = base_url[: -len("/v1")] if base_url.endswith("/v1") else base_url
    return {
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_KEY": api_key,
        "ANTHROPIC_BASE_URL": root,
        "ANTHROPIC_API_KEY": api_key,
    }


def run_agent(
    agent: Any, data: Any, environment: dict[str, str], timeout_s: float | None
) -> dict[str, Any]:
    """In a process of the pool: the answer of one run, whatever the agent raises."""
    os.environ.update(environment)
    # A process that was not forked has its own streams.
    watch_prints(environment["OPENAI_API_KEY"])
    recorder = record_clients(environment["OPENAI_BASE_URL"])
    record = HttpRecord()
    unobserved, unattributed = recorder.unobserved.count, recorder.unattributed
    current_run.set(record)
    printed = Printed()
    current_print.set(printed)
    answer: dict[str, Any] = {"record": record, "printed": printed, "outcome": "done"}
    answer["left_tasks"] = []
    signal.signal(signal.SIGALRM, _time_out)
    try:
        signal.setitimer(signal.ITIMER_REAL, timeout_s or 0.0, _AGAIN_S)
        answer["value"] = asyncio.run(_run_to_end(agent, data, answer))
    except TimedOut as error:
        answer.update(outcome="timeout", location=error.location)
    except BaseException as error:
        answer.update(outcome="failed", error=described(error))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    answer["unobserved"] = recorder.unobserved.count - unobserved
    answer["unattributed"] = recorder.unattributed - unattributed
    return answer


async def _run_to_end(agent: Any, data: Any, answer: dict[str, Any]) -> Any:
    """Once it returns, `asyncio.run` cancels the tasks that are left."""
    watch_tasks(asyncio.get_running_loop())
    tasks = begin_tasks()
    try:
        return await agent.run(data)
    finally:
        answer["left_tasks"] = await tasks.left()


def _time_out(number: int, frame: FrameType | None) -> None:
    raise TimedOut(location_of(user_frame(frame)) or _suspended())


def _suspended() -> dict[str, Any] | None:
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:
        return None
    return next((place for task in tasks if (place := suspended_at(task))), None)
