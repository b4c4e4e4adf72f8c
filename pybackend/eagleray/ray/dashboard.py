"""The HTTP interface of a Ray dashboard: any Ray version from 2.9.1 on, without importing ray.

Each method sends one request and raises errors of the catalogue: `cluster-connecting`, `cluster-unreachable`,
`cluster-slow`, `not-ray`, `redirected`, `token-needed`, `token-refused`, `token-expired`, `proxy-refused`,
`headers-kept-back`, `ca-needed`, `certificate-refused`, `bad-ca-file`, `dashboard-failed`, `dashboard-busy`,
`answer-too-large`, `no-log`, or the error of finding the endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eagleray.common import worker_errors
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError, printable
from eagleray.ray import errors, local_logs, logs
from eagleray.ray import rows as ray_rows
from eagleray.ray.endpoint import FindEndpoint, TokenSource, direct_endpoint
from eagleray.ray.jobs import RayJobs
from eagleray.ray.rows import (
    ActorRow,
    AgentRow,
    JobRow,
    NodeRow,
    PlacementGroupRow,
    RayVersion,
    TaskRow,
    WorkerRow,
)

if TYPE_CHECKING:
    import aiohttp

    from eagleray.ray.http import Query, Reply
    from eagleray.ray.local_nodes import LocalNode

QUICK_SECONDS = 5.0
LIST_SECONDS = 30.0
# Ray answers 400 to a larger limit (2.60, RAY_MAX_LIMIT_FROM_API_SERVER).
MAX_ROWS = "10000"
ALIVE = ("is_alive", "=", "True")


class Dashboard:
    """One dashboard, used from one event loop.

    `address` is the id of the cluster, which is also its URL (`http://host:port`) unless `find_endpoint` is given.
    It owns its HTTP connections, which end with `close()`.  `token_source` is called whenever a
    token is to be sent, which happens only after the cluster asked for one; None means that no token exists or that this
    cluster must not get it.  A request about a single item may take `quick_s`, a list `list_s`.
    """

    def __init__(
        self,
        address: str,
        token_source: TokenSource = lambda check: None,
        find_endpoint: FindEndpoint | None = None,
        *,
        quick_s: float = QUICK_SECONDS,
        list_s: float = LIST_SECONDS,
    ) -> None:
        # Importing an HTTP client takes a quarter of a second, and most commands send no request.
        from eagleray.ray.http import RayHttp

        self.address = address
        self._quick_s = quick_s
        self._list_s = list_s
        self._http = RayHttp(address, token_source, find_endpoint or direct_endpoint(address))
        self.job_api = RayJobs(address, self._http, self._dead_agent)
        self._marks_logs: bool | None = None

    async def close(self) -> None:
        await self._http.close()

    def reset(self) -> None:
        """Drops the connections because the route is back or has changed; requests in flight are sent again."""
        self._http.reset()

    async def version(self) -> RayVersion:
        """Returns the version of the cluster; raises `not-ray` if the server is something else."""
        reply = await self._http.get("/api/version", seconds=self._quick_s, limit=2**20)
        if reply.status >= 500:
            raise self._failed(reply)
        value = self._json(reply)
        if not isinstance(value, dict) or not ray_rows.text(value, "ray_version"):
            raise errors.not_ray(self.address, f"/api/version answers {reply.status}")
        ray = printable(ray_rows.text(value, "ray_version"), 40)
        self._marks_logs = logs.is_marked(ray)
        return RayVersion(
            ray=ray,
            session=printable(ray_rows.text(value, "session_name") or await self._head(), 120),
            commit=printable(ray_rows.text(value, "ray_commit"), 60),
        )

    async def python_version(self) -> str:
        """Returns the Python version of the head, such as "3.11.7"; "" for versions of Ray that don't report it."""
        reply = await self._http.get("/api/v0/cluster_metadata", seconds=self._quick_s)
        if reply.status == 404:
            return ""
        value = self._json(self._good(reply))
        data = ray_rows.mapping(value, "data") if isinstance(value, dict) else {}
        return printable(ray_rows.text(data, "pythonVersion"), 20)

    async def authentication_mode(self) -> str:
        """Returns "disabled", "token" or another mode of Ray; "disabled" for versions without authentication."""
        reply = await self._http.get("/api/authentication_mode", seconds=self._quick_s)
        if reply.status == 404:
            return "disabled"
        value = self._json(self._good(reply))
        return ray_rows.text(value, "authentication_mode") if isinstance(value, dict) else ""

    async def paused_workers(self) -> list[WorkerRow]:
        """Returns live workers with a thread that waits for a debugger.  Only this query is polled (4 ms)."""
        rows = await self._list(
            "workers", [("num_paused_threads", "!=", "0"), ALIVE], seconds=self._quick_s
        )
        # A worker that never paused has null, which some versions count as unequal to 0.
        return [w for w in ray_rows.each(ray_rows.worker, rows) if w.paused_threads > 0]

    async def all_workers(self) -> list[WorkerRow]:
        """Returns live workers and drivers, with their debug ports if they have any."""
        return ray_rows.each(ray_rows.worker, await self._list("workers", [ALIVE]))

    async def running_tasks(self) -> list[TaskRow]:
        """Returns the tasks and actor methods that are running."""
        return ray_rows.each(ray_rows.task, await self._list("tasks", [("state", "=", "RUNNING")]))

    async def unended_tasks(self) -> list[TaskRow]:
        """Returns the tasks and actor methods that run or wait to run."""
        filters = [("state", "!=", "FINISHED"), ("state", "!=", "FAILED")]
        return ray_rows.each(ray_rows.task, await self._list("tasks", filters))

    async def placement_groups(self) -> list[PlacementGroupRow]:
        """Returns the placement groups that wait for resources, and those that hold some."""
        return [
            group
            for state in ("PENDING", "CREATED")
            for group in ray_rows.each(
                ray_rows.placement_group,
                await self._list("placement_groups", [("state", "=", state)]),
            )
        ]

    async def actors(self) -> list[ActorRow]:
        """Returns actors that are not dead; an actor and its worker share `(node_id, pid)`."""
        return ray_rows.each(ray_rows.actor, await self._list("actors", [("state", "!=", "DEAD")]))

    async def all_actors(self) -> list[ActorRow]:
        """Returns live actors, and the dead ones that Ray still lists."""
        return ray_rows.each(ray_rows.actor, await self._list("actors", []))

    async def nodes(self) -> list[NodeRow]:
        """Returns all nodes that Ray lists, including dead ones."""
        return ray_rows.each(ray_rows.node, await self._list("nodes", []))

    async def agents(self) -> list[AgentRow]:
        """Returns the agents of the living nodes."""
        query = [("view", "summary")]
        value = self._json(self._good(await self._http.get("/nodes", query, seconds=self._quick_s)))
        data = ray_rows.mapping(value, "data") if isinstance(value, dict) else {}
        summary = data.get("summary")
        rows = summary if isinstance(summary, list) else []
        return ray_rows.each(ray_rows.agent, (row for row in rows if isinstance(row, dict)))

    async def jobs(self) -> list[JobRow]:
        """Returns all jobs, including ended ones, each with its runtime_env."""
        reply = self._good(await self._http.get("/api/jobs/", seconds=self._list_s))
        value = self._json(reply)
        if not isinstance(value, list):
            raise errors.not_ray(self.address, "/api/jobs/ does not answer with a list")
        return ray_rows.each(ray_rows.job, (row for row in value if isinstance(row, dict)))

    async def profiling_enabled(self) -> bool:
        """Whether the cluster allows `traceback`."""
        reply = await self._http.get("/api/profiling_enabled", seconds=self._quick_s)
        if reply.status == 404:
            return True  # Versions without this endpoint always allow it.
        value = self._json(self._good(reply))
        data = ray_rows.mapping(value, "data") if isinstance(value, dict) else {}
        return data.get("profilingEnabled") is True

    async def traceback(self, pid: int, node_ip: str) -> str:
        """Returns py-spy's text of all stacks of a worker; check its title, since old versions may answer for another node."""
        query = [("pid", str(pid)), ("ip", node_ip)]
        return self._good(
            await self._http.get("/worker/traceback", query, seconds=self._list_s)
        ).text

    async def local_nodes(self, nodes: Sequence[NodeRow]) -> dict[str, LocalNode]:
        """Returns the nodes that are this machine, by their ids; asks only an older Ray, for their sockets."""
        from eagleray.ray.local_nodes import local_nodes, own_raylets

        raylets = await off_loop(own_raylets)
        sockets = {}
        if nodes and not all(raylet.node_id for raylet in raylets):
            sockets = {agent.node_id: agent.raylet_socket for agent in await self.agents()}
        return local_nodes(nodes, raylets, sockets)

    async def log_files(self, node_id: str, pattern: str) -> list[str]:
        """Returns the names of log files of a node that match a glob, such as `worker-<worker id>-*.out`."""
        query = [("node_id", node_id), ("glob", pattern)]
        try:
            reply = self._good(await self._http.get("/api/v0/logs", query, seconds=self._list_s))
            groups = self._result(reply)
        except EaglerayError as error:
            return await local_logs.names(await self._local_logs(node_id, error), pattern)
        if not isinstance(groups, dict):
            raise errors.not_ray(self.address, "/api/v0/logs answers something else")
        lists = (names for names in groups.values() if isinstance(names, list))
        return [name for names in lists for name in names if isinstance(name, str)]

    async def log_file(self, node_id: str, filename: str, lines: int) -> str:
        """Returns the last `lines` lines of a log file, all for -1; raises `answer-too-large`."""
        from eagleray.ray.http import MAX_ANSWER

        texts: list[str] = []
        size = 0
        pieces = self._log("file", node_id, filename, lines, [], self._list_s)
        async with aclosing(pieces):
            async for text in logs.texts(pieces):
                texts.append(text)
                size += len(text)
                if size > MAX_ANSWER:
                    raise errors.answer_too_large(self.address, MAX_ANSWER)
        return "".join(texts)

    async def log_stream(
        self, node_id: str, filename: str, lines: int = 0, interval_s: float = 0.25
    ) -> AsyncGenerator[str, None]:
        """Yields the last `lines` lines and then appended text, until the caller closes the iterator or the node is gone."""
        query = [("interval", str(interval_s))]
        pieces = self._log("stream", node_id, filename, lines, query, None)
        async with aclosing(pieces):
            async for text in logs.texts(pieces):
                yield text

    async def log_bytes(self, node_id: str, filename: str, lines: int = -1) -> AsyncIterator[bytes]:
        """Yields the bytes of a file below the logs of a node, or of its last lines, until the caller closes the iterator.

        Nothing indicates a truncated transfer: compare the size or a hash.
        """
        # Without these the node stops after half a minute, and after a thousand lines.
        query = [("timeout", str(24 * 3600))]
        pieces = self._log("file", node_id, filename, lines, query, None)
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece

    async def _log(
        self,
        how: Literal["file", "stream"],
        node_id: str,
        filename: str,
        lines: int,
        more: Query,
        seconds: float | None,
    ) -> AsyncGenerator[bytes, None]:
        """Yields the bytes that the dashboard sends; the bytes of a file here where it can't, since the node is this
        machine.
        """
        has_started = False
        query = [("lines", str(lines)), *more]
        try:
            async with self._answer(how, node_id, filename, query, seconds) as answer:
                async for piece in logs.pieces(answer, bool(self._marks_logs)):
                    has_started = True
                    yield piece
            return
        except EaglerayError as error:
            if has_started:
                raise
            folder = await self._local_logs(node_id, error)
        read = local_logs.pieces if how == "file" else local_logs.followed
        async for piece in read(folder, filename, lines):
            yield piece

    async def _dead_agent(self, is_missing: bool) -> EaglerayError | None:
        """The error of the agent for lack of which no job starts; None if there is none or that isn't known.

        `is_missing`: the dashboard has answered that there is none.
        """
        from eagleray.ray.job_agents import dead_agent

        try:
            agents, nodes = await asyncio.gather(self.agents(), self.nodes())
            local = await self.local_nodes(nodes)
        except EaglerayError:
            return None
        dead = await off_loop(partial(dead_agent, agents, local, is_missing=is_missing))
        return errors.job_agent_dead(dead) if dead else None

    async def _local_logs(self, node_id: str, error: EaglerayError) -> Path:
        """The logs of a node that is this machine, after the failure of its agent; raises `error` where they aren't."""
        if error.code == "dashboard-failed":
            local = await self.local_nodes(await self.nodes())
            if node_id in local:
                return local[node_id].logs
        raise error

    @asynccontextmanager
    async def _answer(
        self, how: str, node_id: str, filename: str, query: Query, seconds: float | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        from eagleray.ray.http import Reply

        if self._marks_logs is None:
            await self.version()
        query = [("node_id", node_id), ("filename", filename), ("format", "text"), *query]
        async with self._http.open(f"/api/v0/logs/{how}", query, seconds=seconds) as answer:
            if answer.status != 200:
                raise self._no_log(await self._http.read(answer, 2**20), filename)
            try:
                yield answer
            except logs.LogFailed as error:
                reply = Reply(500, str(error).encode())
                raise self._no_log(reply, filename) from error

    async def _head(self) -> str:
        """Returns an id of this start of the cluster, for versions that report no session."""
        heads = [node.node_id for node in await self.nodes() if node.head]
        return f"head-{heads[0]}" if heads else ""

    async def _list(
        self, what: str, filters: list[tuple[str, str, str]], seconds: float | None = None
    ) -> list[dict[str, Any]]:
        query: list[tuple[str, str]] = [("detail", "1"), ("limit", MAX_ROWS)]
        for key, predicate, value in filters:
            query += [
                ("filter_keys", key),
                ("filter_predicates", predicate),
                ("filter_values", value),
            ]
        reply = self._good(
            await self._http.get(f"/api/v0/{what}", query, seconds=seconds or self._list_s)
        )
        rows = self._result(reply)
        listed = rows.get("result") if isinstance(rows, dict) else None
        if not isinstance(listed, list):
            raise errors.not_ray(self.address, f"/api/v0/{what} does not answer with a list")
        return [row for row in listed if isinstance(row, dict)]

    def _result(self, reply: Reply) -> Any:
        """Returns `data.result` of a response of the state API."""
        value = self._json(reply)
        if not isinstance(value, dict) or not isinstance(value.get("result"), bool):
            raise errors.not_ray(self.address, "it answers in JSON, but not as Ray does")
        if not value["result"]:
            raise self._failed(reply)
        return ray_rows.mapping(value, "data").get("result")

    def _good(self, reply: Reply) -> Reply:
        if reply.status == 404:
            raise errors.not_ray(self.address, "it does not know the paths of Ray's dashboard")
        if reply.status != 200:
            raise self._failed(reply)
        return reply

    def _json(self, reply: Reply) -> Any:
        try:
            return reply.json()
        except ValueError as error:
            raise errors.not_ray(self.address, f"no JSON: {printable(reply.text)}") from error

    def _failed(self, reply: Reply) -> EaglerayError:
        text = printable(reply.text, 2000)
        # Protobuf 5 took this argument away from what Ray before 2.10 calls for every list.
        if "including_default_value_fields" in text:
            return errors.protobuf_breaks_api(self.address, text)
        return errors.dashboard_failed(self.address, reply.status, text)

    def _no_log(self, reply: Reply, filename: str) -> EaglerayError:
        if reply.status in (404, 500) and "not found" in reply.text:
            return worker_errors.no_log(filename)
        return self._failed(reply)


# The nodes of a cluster that are this machine.
FindLocalNodes = Callable[[Dashboard, Sequence[NodeRow]], Awaitable[Mapping[str, "LocalNode"]]]
