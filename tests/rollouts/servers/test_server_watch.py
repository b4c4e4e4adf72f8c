"""The state of a server while its program starts, serves and falls silent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import evolve
from eagleray.common.retry import SERVER_START
from eagleray.rollouts.servers.health import FirstToken, Health
from eagleray.rollouts.servers.listen_address import ServerAddress
from eagleray.runs.model import (
    RunPlan,
    RunState,
    ServerPlan,
    ServerStatus,
    server_state,
)
from eagleray.runs.records import RunRecord, RunRecords
from eagleray.supervisor.server_watch import ServerWatch

from tests.virtual_time import run_virtually

ADDRESS = ServerAddress("127.0.0.1", 8000)
OTHER = ServerAddress("127.0.0.1", 29500)
PLAN = RunPlan(
    kind="command", argv=("vllm",), cwd="/", name="vllm", server=ServerPlan("vllm", "vllm", 8000)
)
RUNNING = RunState("running", 1.0)
TOKEN = FirstToken("token", "m")


class Server:
    """A place and a probe in one: what answers is set by the time that has passed."""

    schedule = SERVER_START

    def __init__(
        self,
        health: Callable[[float, ServerAddress], Health],
        token: FirstToken = TOKEN,
        addresses: Sequence[ServerAddress] = (ADDRESS,),
    ) -> None:
        self._health = health
        self._token = token
        self._addresses = addresses
        self.requests: list[tuple[float, str]] = []
        self.began = 0.0
        self.token_at = 0.0

    def _now(self) -> float:
        return asyncio.get_running_loop().time() - self.began

    async def addresses(self, state: RunState) -> Sequence[ServerAddress]:
        return self._addresses

    def owner_of(self, port: int) -> str:
        return ""

    async def health(self, url: str, limit_s: float = 0.0) -> Health:
        self.requests.append((self._now(), url))
        address = next(item for item in self._addresses if item.url == url)
        return self._health(self._now(), address)

    async def first_token(
        self, url: str, *, named: str = "", on_demand: bool = False
    ) -> FirstToken:
        return self._token if self._now() >= self.token_at else FirstToken("waiting")

    async def end_rest(self) -> None: ...

    async def close(self) -> None: ...


def record_of(folder: Path, plan: RunPlan = PLAN, state: RunState = RUNNING) -> RunRecord:
    record = RunRecords(folder).create(plan, state)
    record.write_server_key("sk-k")
    return record


def watched(
    folder: Path,
    server: Server,
    seconds: float,
    plan: RunPlan = PLAN,
    state: RunState = RUNNING,
) -> list[tuple[float, ServerStatus]]:
    """The changes of its status within that time, each with the moment at which it was reported."""
    record = record_of(folder, plan, state)
    assert plan.server
    changes: list[tuple[float, ServerStatus]] = []

    async def watch() -> None:
        loop = asyncio.get_running_loop()
        server.began = loop.time()
        watch = ServerWatch(record, plan.server or ServerPlan(""), server, server, now=loop.time)

        def take() -> None:
            status = watch.update(RUNNING).server
            assert status
            changes.append((loop.time() - server.began, status))

        watch.on_news = take
        running = asyncio.ensure_future(watch.run())
        await asyncio.sleep(seconds)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run_virtually(watch())
    return changes


def phases(changes: Sequence[tuple[float, ServerStatus]]) -> list[str]:
    return [status.phase for _, status in changes]


def test_slow_start_is_noticed_at_once_and_polled_cheaply(tmp_path: Path) -> None:
    began_s = 600.0
    server = Server(lambda now, _: "ok" if now >= began_s else "waiting")
    changes = watched(tmp_path, server, 700.0)
    assert phases(changes) == ["ready"]
    at, status = changes[0]
    assert began_s <= at <= began_s + 0.2
    assert (status.url, status.model) == (ADDRESS.url, "m")
    starting = [moment for moment, _ in server.requests if moment < began_s]
    assert len(starting) < began_s * 10
    # Engines note each request for their health in the log.
    assert len([moment for moment, _ in server.requests if moment > at]) < 25


def test_silent_server_is_unhealthy_until_it_answers(tmp_path: Path) -> None:
    silent = (30.0, 120.0)
    server = Server(lambda now, _: "closed" if silent[0] <= now <= silent[1] else "ok")
    changes = watched(tmp_path, server, 200.0)
    assert phases(changes) == ["ready", "unhealthy", "ready"]
    assert changes[1][1].reason == f"The server doesn't answer at {ADDRESS.url}."
    assert changes[2][1].reason == ""


def test_rejected_key_is_unhealthy_and_rarely_tried(tmp_path: Path) -> None:
    server = Server(lambda now, _: "ok", FirstToken("refused"))
    changes = watched(tmp_path, server, 60.0)
    assert phases(changes) == ["unhealthy"]
    assert changes[0][1].reason == "The server rejects the API key."
    assert len(server.requests) < 15


def test_server_without_tokens_says_what_it_answers(tmp_path: Path) -> None:
    server = Server(lambda now, _: "ok", FirstToken("no-token", "m", "HTTP 404"))
    changes = watched(tmp_path, server, 1.0)
    assert changes[0][1].reason == "The server generates no token: HTTP 404"


def test_ten_minutes_of_loading_are_only_a_start(tmp_path: Path) -> None:
    """Nothing listens, then it isn't ready, and then its first token is refused for a while."""

    def health(now: float, _: ServerAddress) -> Health:
        return "closed" if now < 400.0 else ("waiting" if now < 590.0 else "ok")

    server = Server(health)
    server.token_at = 600.0
    changes = watched(tmp_path, server, 900.0)
    assert phases(changes) == ["starting", "ready"]
    assert changes[0][1].url == ADDRESS.url
    assert 600.0 <= changes[1][0] <= 600.2


def test_adopted_server_is_ready_at_its_new_address(tmp_path: Path) -> None:
    """The port of the earlier supervisor has ended with that one."""
    before = evolve(RUNNING, server=ServerStatus("ready", OTHER.url, "m"))
    server = Server(lambda now, _: "ok")
    changes = watched(tmp_path, server, 60.0, state=before)
    assert phases(changes) == ["ready"]
    assert (changes[0][0], changes[0][1].url) == (0.0, ADDRESS.url)


def test_adopted_server_is_not_ready_before_it_is_reached(tmp_path: Path) -> None:
    state = evolve(RUNNING, server=ServerStatus("ready", ADDRESS.url, "m"))
    server = Server(lambda now, _: "ok")
    assert PLAN.server
    watch = ServerWatch(record_of(tmp_path, state=state), PLAN.server, server, server)
    status = watch.update(RUNNING).server
    assert status
    assert (status.phase, status.url) == ("unhealthy", ADDRESS.url)
    assert status.reason == f"The server doesn't answer at {ADDRESS.url}."


def test_adopted_server_is_ready_once_it_answers(tmp_path: Path) -> None:
    before = evolve(RUNNING, server=ServerStatus("ready", ADDRESS.url, "m"))
    server = Server(lambda now, _: "closed" if now < 100.0 else "ok")
    changes = watched(tmp_path, server, 130.0, state=before)
    assert phases(changes) == ["ready"]
    assert 100.0 <= changes[0][0] <= 115.0


def test_port_of_collectives_is_left_alone(tmp_path: Path) -> None:
    """A port that doesn't speak HTTP is hardly ever tried again, and doesn't delay the other."""
    plan = evolve(PLAN, server=ServerPlan("own"))

    def health(now: float, address: ServerAddress) -> Health:
        if address == OTHER:
            return "foreign"
        return "ok" if now >= 300.0 else "waiting"

    server = Server(health, addresses=(OTHER, ADDRESS))
    changes = watched(tmp_path, server, 310.0, plan)
    assert phases(changes) == ["ready"]
    assert changes[0][0] <= 300.2
    assert len([url for _, url in server.requests if url == OTHER.url]) < 30


def test_open_address_is_warned_of(tmp_path: Path) -> None:
    server = Server(lambda now, _: "ok", addresses=(evolve(ADDRESS, is_open=True),))
    changes = watched(tmp_path, server, 1.0)
    assert changes[0][1].warning == "Other machines can reach this server."


def test_server_whose_engine_died_has_failed_though_it_exits_with_0(tmp_path: Path) -> None:
    """As vLLM 0.32 does after its engine was killed."""
    record = record_of(tmp_path)
    server = Server(lambda now, _: "ok")
    assert PLAN.server
    watch = ServerWatch(record, PLAN.server, server, server, now=lambda: 0.0)
    asyncio.run(watch.poll())
    record.output.write_text("INFO: Shutting down\n")
    assert server_state(evolve(watch.last_state(RUNNING, 0), phase="exited", code=0)) == "stopped"
    line = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."
    record.output.write_text(f"(APIServer pid=1) ERROR 11-28 11:25:25 [async_llm.py:906] {line}\n")
    ended = watch.last_state(RUNNING, 0)
    assert ended.server and ended.server.reason == "The engine of the server ended unexpectedly."
    assert server_state(evolve(ended, phase="exited", code=0)) == "failed"


def test_stopped_server_has_no_reason(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    server = Server(lambda now, _: "ok")
    assert PLAN.server
    watch = ServerWatch(record, PLAN.server, server, server, now=lambda: 0.0)
    stopping = watch.last_state(RunState("stopping", 1.0), 130).server
    record.output.write_text("RuntimeError: CUDA out of memory.\n")
    failed = watch.last_state(RUNNING, 1).server
    early = watch.last_state(RUNNING, 0).server
    assert stopping and failed and early
    assert stopping.reason == ""
    assert failed.reason == "The GPU has too little free memory for The model."
    assert early.reason == "The server exited while it started."
