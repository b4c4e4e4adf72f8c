"""The job API of a Ray dashboard: programs that run beside the cluster's head, and the packages they need."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from attrs import frozen

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.ray import rows
from eagleray.ray.errors import job_refused, no_job, no_job_agent

if TYPE_CHECKING:
    from eagleray.ray.http import RayHttp, Reply

# The first job of a cluster takes the dashboard half a second; a machine may be busy.
SECONDS = 30.0
PACKAGE_SECONDS = 120.0
# A cluster that has just started has no agent for jobs yet, and its response says so, after ten seconds (2.60,
# WAIT_AVAILABLE_AGENT_TIMEOUT).
AGAIN_S = (1.0, 2.0, 4.0, 8.0)
# A submission that takes longer may wait for an agent that will never come.
QUICK_S = 1.0
ENDED = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})

_NOT_YET = "No available agent"
# The dashboard still lists the agent that it asks to start the job, but that has ended (2.60).
_UNREACHED = re.compile(r"\bClient(Connector|OS)Error\b|\bServerDisconnectedError\b")
_PACKAGE = re.compile(r"_ray_pkg_[0-9a-zA-Z_]{1,80}\.zip")


@frozen
class JobState:
    """The state of a job: `status` as Ray names it, Ray's `message`, and the exit code of its program if known."""

    status: str
    message: str
    driver_node_id: str
    job_id: str
    code: int | None

    @property
    def ended(self) -> bool:
        return self.status in ENDED


class RayJobs:
    """The job API of one dashboard; each method sends one request and raises errors of the catalogue.

    `dead_agent` returns why no agent would start a job, as far as that is known; its argument says whether the dashboard has
    answered that there is none.
    """

    def __init__(
        self,
        address: str,
        http: RayHttp,
        dead_agent: Callable[[bool], Awaitable[EaglerayError | None]],
    ) -> None:
        self._address = address
        self._http = http
        self._dead_agent = dead_agent

    async def submit(
        self,
        entrypoint: str,
        *,
        runtime_env: Mapping[str, Any],
        metadata: Mapping[str, str],
        submission_id: str = "",
    ) -> str:
        """Submits a job and returns its id.

        `entrypoint` is a line for the shell of the head: `shlex.join` of constants; data goes into `env_vars`.  Requests
        no resources: in a full cluster the job would wait forever.
        """
        request = {"entrypoint": entrypoint, "runtime_env": runtime_env, "metadata": metadata}
        if submission_id:
            request["submission_id"] = submission_id
        body = json.dumps(request).encode()
        for pause in (*AGAIN_S, None):
            reply = await self._posted(body)
            if not _is_not_yet(reply):
                break
            if pause is None:
                raise no_job_agent(self._address, reply.text)
            await asyncio.sleep(pause)
        if reply.status != 200 and _UNREACHED.search(reply.text):
            raise await self._dead_agent(True) or no_job_agent(self._address, reply.text)
        value = self._value(reply)
        taken = rows.text(value, "submission_id") or rows.text(value, "job_id")
        if not taken:
            raise job_refused(self._address, t("it answered without an id"))
        return taken

    async def _posted(self, body: bytes) -> Reply:
        """The response to a submission; raises `no-job-agent` as soon as it is certain that none comes."""
        sending = asyncio.ensure_future(
            self._http.send("POST", "/api/jobs/", body, seconds=SECONDS)
        )
        try:
            done, _ = await asyncio.wait([sending], timeout=QUICK_S)
            is_missing = bool(done) and not sending.exception() and _is_not_yet(sending.result())
            if not done or is_missing:
                error = await self._dead_agent(is_missing)
                if error is not None:
                    raise error
            reply = await sending
            if not done and _is_not_yet(reply) and (error := await self._dead_agent(True)):
                raise error
            return reply
        finally:
            sending.cancel()

    async def state(self, job: str) -> JobState:
        """Returns the state of a job; raises `no-job`."""
        reply = await self._http.get(_path(job), seconds=SECONDS)
        value = self._value(reply, job)
        code = value.get("driver_exit_code")
        return JobState(
            status=printable(rows.text(value, "status"), 40),
            message=rows.text(value, "message"),
            driver_node_id=rows.text(value, "driver_node_id"),
            job_id=rows.text(value, "job_id"),
            code=code if isinstance(code, int) else None,
        )

    async def logs(self, job: str) -> str:
        """Returns the output of a job so far."""
        reply = await self._http.get(f"{_path(job)}/logs", seconds=SECONDS)
        return rows.text(self._value(reply, job), "logs")

    async def stop(self, job: str) -> None:
        """Stops a job: its program gets SIGTERM, and SIGKILL three seconds later."""
        self._value(await self._http.send("POST", f"{_path(job)}/stop", seconds=SECONDS), job)

    async def delete(self, job: str) -> None:
        """Deletes an ended job from the user's list of jobs."""
        self._value(await self._http.send("DELETE", _path(job), seconds=SECONDS), job)

    async def has_package(self, name: str) -> bool:
        """Whether the cluster has the package; the request also makes the cluster keep it for ten minutes."""
        reply = await self._http.get(_package(name), seconds=SECONDS)
        if reply.status not in (200, 404):
            raise job_refused(self._address, reply.text)
        return reply.status == 200

    async def put_package(self, name: str, archive: bytes) -> None:
        """Uploads a zip; a job refers to it by `gcs://` and its name in `py_modules`."""
        reply = await self._http.send(
            "PUT", _package(name), archive, seconds=PACKAGE_SECONDS, kind="application/zip"
        )
        if reply.status != 200:
            raise job_refused(self._address, reply.text)

    def _value(self, reply: Reply, job: str = "") -> dict[str, Any]:
        if reply.status == 404 and job:
            raise no_job(self._address, job)
        if reply.status != 200:
            raise job_refused(self._address, reply.text)
        try:
            value = reply.json()
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise job_refused(self._address, t("its answer isn't Ray's"))
        return value


def _is_not_yet(reply: Reply) -> bool:
    return _NOT_YET in reply.text


def _path(job: str) -> str:
    return f"/api/jobs/{quote(job, safe='')}"


def _package(name: str) -> str:
    if not _PACKAGE.fullmatch(name):
        raise ValueError(f"no name of a package: {name}")
    return f"/api/packages/gcs/{name}"
