"""Queries that only the cluster's own Python can answer.

Where a node of the cluster is this machine, they are run by its Python; else they are sent as a job, which is removed
afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import secrets
import shlex
import time
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from eagleray.common import tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError, printable
from eagleray.ray.dashboard import Dashboard, FindLocalNodes
from eagleray.ray.errors import job_failed, job_unfinished
from eagleray.ray.jobs import JobState
from eagleray.ray.local_nodes import LocalNode
from eagleray.remote.sampling.proc import environment
from eagleray.routes.commands import kill, start_process

log = logging.getLogger(__name__)

POLL_S = 0.1
# Ray kills a job three seconds after it stopped it (2.60, `job_supervisor.py`); a busy machine takes longer.
END_S = 15.0
RAY_POLL_S = 1.5
MOST_DELETIONS = 6
# The owner of a job deletes its record much sooner; the clocks of the machines may differ.
LEFT_S = 600.0
# Runs the text of the variable with the Ray of the process whose id is its argument.  The folder in which Ray
# was started is first on the path, and may contain modules named like libraries.  Of several clusters of a machine, Ray may
# give a job the address of another one (2.60), unless `ray start` has started its own: the raylet above has the right one.
_START = """\
import sys
sys.path[:] = filter(None, sys.path)
import os
library = "/ray/_raylet.so"
try:
    with open("/proc/%s/maps" % sys.argv[1], errors="replace") as maps:
        ends = [line.rstrip() for line in maps if line.rstrip().endswith(library)]
except OSError:
    ends = []
if ends:
    packages = "/" + ends[0].partition("/")[2][: -len(library)]
    others = [at for at, folder in enumerate(sys.path) if folder.endswith("-packages")]
    sys.path.insert(others[0] if others else len(sys.path), packages)
try:
    pid = sys.argv[1]
    while int(pid) > 1:
        with open("/proc/%s/cmdline" % pid, "rb") as line:
            words = line.read().decode("utf-8", "replace").split("\\0")
        address = [word.partition("=")[2] for word in words if word.startswith("--gcs-address=")]
        if address and words[0].endswith("/raylet"):
            os.environ["RAY_ADDRESS"] = address[0]
            break
        with open("/proc/%s/stat" % pid, errors="replace") as line:
            pid = line.read().rpartition(")")[2].split()[1]
except OSError:
    pass
exec(os.environ["EAGLERAY_TEXT"])
"""
# The shell's parent is a process of Ray; `python` may be another interpreter, without Ray.
_PYTHON = '"$(readlink /proc/$PPID/exe || echo python)"'
_OWN_ID = re.compile("eagleray_[0-9a-f]{16}")
ENTRYPOINT = f"exec {_PYTHON} -c {shlex.quote(_START)} $PPID"


class ClusterQuery:
    """Runs queries on one event loop; `close` returns when none of our jobs is left in any list."""

    def __init__(self, local_nodes: FindLocalNodes = Dashboard.local_nodes) -> None:
        self._local_nodes = local_nodes
        self._removing: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        await asyncio.gather(*self._removing)

    async def ask(
        self,
        dashboard: Dashboard,
        what: str,
        text: str,
        params: Mapping[str, object],
        seconds: float,
    ) -> Any:
        """Returns the JSON value that the program `text` prints after the mark that it finds in `EAGLERAY_ASKED`.

        `what` names it in the user's list of jobs and in errors.  The value is unchecked.
        """
        mark = secrets.token_hex(16)
        env = _environment(text, params, mark)
        if local := await self._local_nodes(dashboard, await dashboard.nodes()):
            node = next(iter(local.values()))
            try:
                code, output = await asyncio.wait_for(_printed(node, env), seconds)
                return _answer(dashboard, what, f"exit code {code}", output, mark)
            except asyncio.TimeoutError:
                raise job_unfinished(dashboard.address, what, seconds) from None
            except OSError as error:
                # Its environment was removed or moved since the node started; Ray may still start jobs.
                log.info("the Python of the node can't be run, so a job is sent: %s", error)
        job = await self.submit(dashboard, what, {"env_vars": env}, secrets.token_hex(8))
        state: JobState | None = None
        try:
            state = await _ended(dashboard, job, seconds)
            if state is None:
                raise job_unfinished(dashboard.address, what, seconds)
            ended = f"{state.status}: {state.message}"
            return _answer(dashboard, what, ended, await dashboard.job_api.logs(job), mark)
        finally:
            # Also after a cancellation.
            self.remove(dashboard, job, ended=state is not None)

    def remove_left(self, dashboard: Dashboard) -> None:
        """Deletes the records of ended jobs whose Eagleray was killed, after this method has returned."""
        self._later(_remove_left(dashboard))

    async def submit(
        self,
        dashboard: Dashboard,
        what: str,
        runtime_env: Mapping[str, Any],
        own_id: str,
        packages: Mapping[str, bytes] = MappingProxyType({}),
    ) -> str:
        """Submits a job of ours, which reads `packages`, and returns its id; `what` names it in the user's list of jobs.

        After a failure or a cancellation it is removed: Ray may start it nevertheless.
        """
        job = f"eagleray_{own_id}"

        async def send() -> str:
            for name, content in packages.items():
                await dashboard.job_api.put_package(name, content)
            return await dashboard.job_api.submit(
                ENTRYPOINT,
                runtime_env=runtime_env,
                metadata={"name": f"Eagleray: {what}"},
                submission_id=job,
            )

        sending = tasks.shared(send(), "submission")
        try:
            # Only what has arrived can be removed.
            return await asyncio.shield(sending)
        except BaseException:
            self._later(_remove_sent(dashboard, job, sending, tuple(packages)))
            raise

    def remove(
        self, dashboard: Dashboard, job: str, ended: bool, unread: Sequence[str] = ()
    ) -> None:
        """Stops a job unless it has `ended`, and deletes its record, after this method has returned.

        A job that can't be removed stays in Ray's list of jobs and does no harm.  `unread` are packages that it may have
        left.
        """
        self._later(_remove(dashboard, job, ended=ended, unread=unread))

    def _later(self, removing: Coroutine[Any, Any, None]) -> None:
        removal = tasks.owned(removing, "removal", tasks.only_logged)
        self._removing.add(removal)
        removal.add_done_callback(self._removing.discard)


async def answer_of_node(
    node: LocalNode, text: str, params: Mapping[str, object], seconds: float
) -> Any:
    """Returns what `ClusterQuery.ask` does, of the cluster of a node of this machine; None without an answer."""
    mark = secrets.token_hex(16)
    try:
        _, output = await asyncio.wait_for(
            _printed(node, _environment(text, params, mark)), seconds
        )
        return _value(output, mark)
    except (asyncio.TimeoutError, OSError, LookupError) as error:
        log.info("no answer of node %s: %r", node.node_id, error)
        return None


def _environment(text: str, params: Mapping[str, object], mark: str) -> dict[str, str]:
    return {"EAGLERAY_TEXT": text, "EAGLERAY_ASKED": json.dumps({**params, "mark": mark})}


async def _printed(node: LocalNode, environ: Mapping[str, str]) -> tuple[int | None, str]:
    """The exit code and the output of a query that the Python of the node runs, in the environment of its raylet."""
    inherited = await off_loop(partial(environment, node.raylet))
    process = await start_process(
        *(node.python, "-c", _START, str(node.raylet)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**inherited, **environ},
        start_new_session=True,
    )
    try:
        output, _ = await process.communicate()
    finally:
        await kill(process)
    return process.returncode, output.decode("utf-8", "replace")


def _answer(dashboard: Dashboard, what: str, ended: str, output: str, mark: str) -> Any:
    try:
        return _value(output, mark)
    except LookupError:
        raise job_failed(dashboard.address, what, f"{ended}\n{output}") from None


def _value(output: str, mark: str) -> Any:
    """The value after the mark; raises LookupError without it."""
    for line in output.splitlines():
        if line.startswith(mark):
            with contextlib.suppress(ValueError, RecursionError):
                return json.loads(line[len(mark) :])
    raise LookupError(printable(output, 2000))


async def _ended(dashboard: Dashboard, job: str, seconds: float) -> JobState | None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while loop.time() < deadline:
        state = await dashboard.job_api.state(job)
        if state.ended:
            return state
        await asyncio.sleep(POLL_S)
    return None


async def _remove_left(dashboard: Dashboard) -> None:
    latest = time.time() - LEFT_S
    try:
        jobs = await dashboard.jobs()
    except EaglerayError as error:
        log.info("ended jobs stay in the list: %s %s", error, error.logged)
        return
    left = [
        job.submission_id
        for job in jobs
        if 0 < job.ended_at < latest and _OWN_ID.fullmatch(job.submission_id)
    ]
    await asyncio.gather(*(_remove(dashboard, job, ended=True) for job in left))


async def _remove_sent(
    dashboard: Dashboard, job: str, sending: asyncio.Task[str], unread: Sequence[str]
) -> None:
    try:
        await sending
    except EaglerayError as error:
        if error.code == "no-job-agent":
            await _forget(dashboard, unread)
            return
    await _remove(dashboard, job, ended=False, unread=unread)


async def _stop(dashboard: Dashboard, job: str) -> None:
    """Stops a job and waits for its end; its record may be gone already."""
    try:
        await dashboard.job_api.stop(job)
        await _ended(dashboard, job, END_S)
    except EaglerayError as error:
        if error.code != "no-job":
            raise


async def _is_deleted(dashboard: Dashboard, job: str) -> bool:
    """Deletes the record of a job; False if there was none."""
    try:
        await dashboard.job_api.delete(job)
    except EaglerayError as error:
        if error.code != "no-job":
            raise
        return False
    return True


async def _remove(dashboard: Dashboard, job: str, ended: bool, unread: Sequence[str] = ()) -> None:
    """Deletes the record of a job, and what it has not read.

    Ray checks a job once a second, and writes a record of its failure if it finds none (2.60, `_monitor_job_internal`
    in `job_manager.py`), on a busy machine also later: so the record is deleted until it was twice not there.
    """
    try:
        if not ended:
            await _stop(dashboard, job)
        absent = 0
        for _ in range(MOST_DELETIONS):
            await asyncio.sleep(RAY_POLL_S)
            absent = 0 if await _is_deleted(dashboard, job) else absent + 1
            if absent == 2:
                break
    except EaglerayError as error:
        log.info("job %s stays in the list: %s %s", job, error, error.logged)
    await _forget(dashboard, unread)


async def _forget(dashboard: Dashboard, packages: Sequence[str]) -> None:
    with contextlib.suppress(EaglerayError):
        for name in packages:
            # Ray deletes a package ten minutes after the last request for it, and a package without a request never
            # (2.60, RAY_RUNTIME_ENV_TEMPORARY_REFERENCE_EXPIRATION_S).
            await dashboard.job_api.has_package(name)
