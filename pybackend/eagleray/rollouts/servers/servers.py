"""All inference servers of this user: starts, lists, resolves, stops and restarts them, for a window or a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from attrs import evolve, field, frozen
from yarl import URL

from eagleray.clusters.addresses import host_and_port, parse_address
from eagleray.clusters.job_head import is_loopback
from eagleray.common.atomic_file import alone
from eagleray.common.blocking_calls import InOrder, off_loop
from eagleray.common.folder_changes import FolderChanges
from eagleray.common.paths import home, private_folder
from eagleray.common.tasks import wait_for_event
from eagleray.observe.hangs.collecting.slurm import parse_job
from eagleray.protocol.route_spec import RouteSpec, checked
from eagleray.remote.injected.outside_files import content_of
from eagleray.rollouts.servers.added_servers import AddedServer, AddedServers
from eagleray.rollouts.servers.engines import LOOPBACK, ServerCommand, completed, of_script
from eagleray.rollouts.servers.errors import (
    bad_server_name,
    bad_server_place,
    bad_server_url,
    key_rejected,
    no_answer,
    no_key_there,
    no_token,
    not_stoppable,
    server_failed,
    server_name_taken,
    server_port_taken,
    unknown_server,
)
from eagleray.rollouts.servers.health import FirstToken, ServerProbe
from eagleray.rollouts.servers.model import InferenceServer, server_of
from eagleray.rollouts.servers.port_owner import is_free, owner_of_port
from eagleray.runs.model import RunPlan, RunRequest, ServerPlan, ServerState, StartPlace
from eagleray.runs.planner import RunPreparation
from eagleray.runs.program_kind import kind_of, script_at
from eagleray.runs.run_status import with_current_state
from eagleray.runs.runs import Runs
from eagleray.runs.terminal_output import tail_of

_LARGEST_SCRIPT = 2**20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
# Eagleray's texts redact what has this form.
_KEY = "sk-eagleray-{}"
# An address that was added, or whose supervisor has ended, is checked when it is listed.
LIST_HEALTH_S = 2.0
# One that loads a model for its first request may take longer: it is added all the same, and tried again when listed.
ADDED_TOKEN_S = 10.0
_POLL_S = 0.25
# Kinds of runs whose ports aren't on this machine.
_ELSEWHERE = ("job", "sbatch", "remote")
# A stop has three signals of 10 s, and what its end leaves behind two of 5 s.
STOP_S = 60.0


@frozen(kw_only=True)
class ServerStartPlace(StartPlace):
    """The server that the user wants to start; for `name` "" the engine gives the name.

    It is a job of the Ray cluster `cluster`, or runs on the ssh host `host`, or in a step of the SLURM job `slurm`: `JOB`
    or `ssh://HOST/slurm://JOB`.  Without any of them it runs on this machine.
    """

    name: str = ""
    host: str = ""
    slurm: str = ""


@frozen(kw_only=True)
class ServerRequest(ServerStartPlace):
    """Its command.  `key_variable`: the program takes its key from there; "" lets the engine decide."""

    argv: Sequence[str]
    env: dict[str, str] = field(factory=dict)
    key_variable: str = ""


@frozen
class ServerStart:
    """A plan that can be started, and the key of its server, "" for none."""

    plan: RunPlan
    api_key: str = field(repr=False)


class Servers:
    """Servers that runs are, and those that were added; methods that aren't coroutines read files."""

    def __init__(self, runs: Runs, preparing: RunPreparation, added: AddedServers) -> None:
        self._runs = runs
        self._preparing = preparing
        self._added = added
        self._files = InOrder()

    def stored(self) -> list[InferenceServer]:
        """The newest run of each name, and the added addresses, of which it isn't known whether they answer."""
        by_name = {server.name: _added(server) for server in reversed(self._added.all())}
        for run in reversed(self._runs.listed()):
            if run.plan.server is not None:
                server = server_of(run, run.record.server_key())
                # A live one is never hidden by a newer one that has failed.
                before = by_name.get(server.name)
                if before is None or server.is_live or not (before.is_live and before.run_id):
                    by_name[server.name] = server
        return sorted(by_name.values(), key=lambda server: (-server.started, server.name))

    async def list(self) -> list[InferenceServer]:
        """All servers as they are now."""
        stored = await off_loop(self.stored)
        return list(await asyncio.gather(*(self._with_current_state(server) for server in stored)))

    async def resolve(self, name_or_url: str) -> InferenceServer:
        """The server of that name, run or URL; a URL that no server has gets the key of OPENAI_API_KEY."""
        stored = await off_loop(self.stored)
        if "://" in name_or_url:
            url = base_url(name_or_url)
            for server in stored:
                if server.url == url and server.is_live:
                    return await self._with_current_state(server)
            key = os.environ.get("OPENAI_API_KEY", "")
            return await self._with_current_state(_unwatched(url, url, key))
        for server in stored:
            if name_or_url == server.name:
                return await self._with_current_state(server)
        fitting = [
            server for server in stored if name_or_url and server.run_id.startswith(name_or_url)
        ]
        if len(fitting) != 1:
            raise unknown_server(name_or_url)
        return await self._with_current_state(fitting[0])

    async def prepare(self, request: ServerRequest) -> ServerStart:
        """The plan; raises if its name or port is taken."""
        place = place_written(request)
        stored = await off_loop(self.stored)
        ports = await off_loop(partial(self._ports_at, place, stored)) if place else frozenset()
        command = await off_loop(partial(_command_of, request, bool(place), ports))
        name = _free_name(
            request.name or command.engine or "server", stored, given=bool(request.name)
        )
        plan = await self._preparing.plan(
            RunRequest(
                path="",
                args=tuple(command.argv),
                cwd=request.cwd,
                cluster=place or request.cluster,
                kind="remote" if place else "",
                env=request.env,
                workspace=request.workspace,
                python=request.python,
            )
        )
        if plan.kind not in _ELSEWHERE:
            await self._check_port(command.port)
        has_place = command.key_variable or command.key_option
        key = command.key or (_KEY.format(secrets.token_urlsafe(24)) if has_place else "")
        server = ServerPlan(
            name,
            command.engine,
            command.port,
            command.key_variable,
            command.key_option,
            command.model,
        )
        return ServerStart(evolve(plan, server=server), key)

    async def start(self, prepared: ServerStart, *, confirmed: bool = False) -> str:
        """The id of its run; raises if a live server has got its name meanwhile."""
        return await self._started(prepared.plan, prepared.api_key, confirmed=confirmed)

    async def until_answers(self, run_id: str) -> InferenceServer:
        """The server once it is ready or unhealthy; raises `server-failed` when it ends before."""
        record = await off_loop(partial(self._runs.find, run_id))
        wake = asyncio.Event()
        changes = FolderChanges(lambda name: wake.set())
        try:
            await changes.watch(record.folder)
            while True:
                wake.clear()
                run = with_current_state(await off_loop(partial(self._runs.load, run_id)))
                server = server_of(run, record.server_key())
                if not server.is_live:
                    raise server_failed(server.name, server.reason, tail_of(run).lines)
                if server.state != "starting":
                    return server
                await wait_for_event(wake, _POLL_S)
        finally:
            changes.close()

    async def stop(self, written: str, *, confirmed: bool = False) -> InferenceServer:
        """Ends the server with all its processes; forgets one that was added."""
        server = await self.resolve(written)
        if not server.run_id:
            await self.forget(server.name)
            return evolve(server, state="stopped")
        await self._runs.stop(server.run_id, confirmed=confirmed)
        await self._until_over(server.run_id)
        run = with_current_state(await off_loop(partial(self._runs.load, server.run_id)))
        return server_of(run, server.api_key)

    async def forget(self, name: str) -> None:
        """Removes an address that was added; its server isn't ours to stop."""
        if name not in {added.name for added in await off_loop(self._added.all)}:
            raise not_stoppable(name)
        await self._files.run(partial(self._added.remove, name))

    async def restart(self, written: str, *, confirmed: bool = False) -> str:
        """Starts the same command again, at the same port and with the same key; the id of the new run."""
        server = await self.resolve(written)
        if not server.run_id:
            raise not_stoppable(server.name)
        if server.is_live:
            await self.stop(server.run_id, confirmed=confirmed)
        run = await off_loop(partial(self._runs.load, server.run_id))
        if run.plan.server is not None and run.plan.kind not in _ELSEWHERE:
            await self._check_port(run.plan.server.port)
        return await self._started(run.plan, server.api_key, confirmed=confirmed)

    async def add(
        self, url: str, name: str = "", key_variable: str = "", *, key: str = ""
    ) -> InferenceServer:
        """Stores an address at which a server already runs, and requests a token from it."""
        base = base_url(url)
        key = os.environ.get(key_variable, "") if key_variable else key
        if key_variable and not key:
            raise no_key_there(key_variable)
        stored = await off_loop(self.stored)
        others = [server for server in stored if server.run_id or server.name != name]
        chosen = _free_name(name or URL(base).host or "server", others, given=bool(name))
        added = await _with_token(AddedServer(chosen, base, key))
        await self._files.run(partial(self._added.add, added))
        return _added(added)

    async def _started(self, plan: RunPlan, key: str, *, confirmed: bool) -> str:
        """The id of the run; of two terminals that start a name at once, the second is refused."""
        lock = await off_loop(_locked_names, discard=contextlib.ExitStack.close)
        with lock:
            if plan.server is not None:
                _free_name(plan.server.name, await off_loop(self.stored), given=True)
            return await self._runs.start(plan, confirmed=confirmed, server_key=key)

    def _ports_at(self, place: str, stored: Sequence[InferenceServer]) -> frozenset[int]:
        """The ports of our own live servers there; ports of other programs turn out at the start."""
        live = {server.run_id for server in stored if server.is_live}
        return frozenset(
            run.plan.server.port
            for run in self._runs.listed()
            if run.record.id in live and run.plan.server and run.plan.cluster == place
        )

    async def _until_over(self, run_id: str) -> None:
        deadline = asyncio.get_running_loop().time() + STOP_S
        while asyncio.get_running_loop().time() < deadline:
            run = await off_loop(partial(self._runs.load, run_id))
            if with_current_state(run).state.is_over:
                return
            await asyncio.sleep(_POLL_S)

    async def _check_port(self, port: int) -> None:
        if port and not await off_loop(partial(is_free, port)):
            raise server_port_taken(port, await off_loop(partial(owner_of_port, port)))

    async def _with_current_state(self, server: InferenceServer) -> InferenceServer:
        """A server that no supervisor watches, with its state now."""
        if server.is_watched or not server.url or not server.is_live:
            return server
        probe = ServerProbe(server.api_key)
        try:
            health = await probe.health(server.url, LIST_HEALTH_S)
        finally:
            await probe.close()
        added = await off_loop(partial(self._added.named, server.name))
        if added is None or added.url != server.url:
            return evolve(server, state="ready" if health == "ok" else "unhealthy")
        return await self._with_outcome(added, is_healthy=health == "ok")

    async def _with_outcome(self, added: AddedServer, *, is_healthy: bool) -> InferenceServer:
        """Requests a token if the server hasn't answered since the last one: `/health` doesn't prove that it generates."""
        if not is_healthy:
            now = evolve(added, outcome="")
        elif added.outcome in ("", "waiting"):
            now = await _with_token(added)
        else:
            now = added
        if now != added:
            await self._files.run(partial(self._added.note, now))
        return _added(now)


def _locked_names() -> contextlib.ExitStack:
    """Holds the names of servers against other terminals, until it is closed."""
    stack = contextlib.ExitStack()
    stack.enter_context(alone(private_folder(home()) / "server-names"))
    return stack


async def _with_token(server: AddedServer) -> AddedServer:
    """The server after a request for one token."""
    probe = ServerProbe(server.api_key)
    try:
        first = await asyncio.wait_for(probe.first_token(server.url), ADDED_TOKEN_S)
    except asyncio.TimeoutError:
        first = FirstToken("waiting")
    finally:
        await probe.close()
    return evolve(server, outcome=first.outcome, detail=first.detail, model=first.model)


def _added(server: AddedServer) -> InferenceServer:
    """The server as the last request for a token left it."""
    reasons = {"token": "", "refused": key_rejected(), "no-token": no_token(server.detail)}
    reason = reasons.get(server.outcome, no_answer(server.url))
    listed = _unwatched(server.name, server.url, server.api_key)
    state: ServerState = "unhealthy" if reason else "ready"
    return evolve(listed, model=server.model, reason=reason, state=state)


def server_host(cluster: str) -> str:
    """Where a job of that cluster has to listen so that this machine reaches it: loopback, if a route leads there."""
    address = parse_address(cluster) if cluster else None
    if address is None or not address.is_direct:
        return LOOPBACK
    host, _ = host_and_port(address.id)
    return LOOPBACK if is_loopback(host) else host


def place_written(request: ServerRequest) -> str:
    """The place of a remote program, "" for none; raises `bad-route`, `bad-address` or `bad-server-place`."""
    given = [place for place in (request.cluster, request.host, request.slurm) if place]
    if len(given) > 1 or (given and not request.cluster and _is_sbatch(request)):
        raise bad_server_place()
    if request.host:
        return f"ssh://{checked(RouteSpec(ssh=request.host.removeprefix('ssh://'))).ssh}"
    if not request.slurm:
        return ""
    ssh, job = parse_job(request.slurm)
    return f"ssh://{ssh}/slurm://{job}" if ssh else f"slurm://{job}"


def _is_sbatch(request: ServerRequest) -> bool:
    return kind_of("", request.argv, request.cwd) == "sbatch"


def _command_of(request: ServerRequest, is_remote: bool, taken: Collection[int]) -> ServerCommand:
    """Reads the script of a job; `taken` are the ports of our servers on another host."""
    # That has variables of its own.
    environ = dict(request.env) if is_remote else {**os.environ, **request.env}
    if _is_sbatch(request):
        script = script_at("sbatch", request.argv)
        try:
            text = content_of(Path(request.cwd, script), _LARGEST_SCRIPT).decode("utf-8", "replace")
        except OSError:
            text = ""
        return of_script(request.argv, text, environ, request.key_variable)
    return completed(
        request.argv,
        environ,
        (lambda port: port not in taken) if is_remote else is_free,
        host=server_host(request.cluster),
        key_variable=request.key_variable,
    )


def base_url(written: str) -> str:
    """The URL with `/v1`; raises `bad-server-url`."""
    try:
        url = URL(written.strip())
    except ValueError as error:
        raise bad_server_url(written) from error
    if url.scheme not in ("http", "https") or not url.host or url.user or url.query_string:
        raise bad_server_url(written)
    path = url.path.rstrip("/")
    return f"{url.origin()}{path if path.endswith('/v1') else f'{path}/v1'}"


def _unwatched(name: str, url: str, api_key: str) -> InferenceServer:
    return InferenceServer(name, url, api_key, "unhealthy", is_watched=False)


def _free_name(name: str, stored: Sequence[InferenceServer], *, given: bool) -> str:
    """A name that no live server has; one that wasn't given gets a number."""
    if not _NAME.fullmatch(name):
        raise bad_server_name(name)
    taken = {server.name for server in stored if server.is_live}
    if name not in taken:
        return name
    if given:
        raise server_name_taken(name)
    return next(f"{name}-{n}" for n in range(2, 10_000) if f"{name}-{n}" not in taken)
