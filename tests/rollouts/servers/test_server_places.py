"""Where the server of a job answers: its port, and the route to it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.common.route_errors import port_taken
from eagleray.protocol.route_spec import RouteSpec
from eagleray.rollouts.servers.listen_address import ServerAddress
from eagleray.rollouts.servers.servers import base_url, server_host
from eagleray.runs.model import RunState
from eagleray.supervisor.server_addresses import JobPlace, LocalPort, SlurmPort, printed_port

RUNNING = RunState("running", 1.0, external_id="77")
ADDRESS = ServerAddress("127.0.0.1", 5000)


@pytest.mark.parametrize(
    ("line", "port"),
    [
        ("INFO:     Uvicorn running on http://0.0.0.0:8001 (Press CTRL+C to quit)", 8001),
        (
            "(APIServer pid=1) INFO [entry.py:140] Starting vLLM server on http://127.0.0.1:30102",
            30102,
        ),
        ("main: server is listening on http://127.0.0.1:8080 - starting the main loop", 8080),
        ("SGLang server launched at: http://10.0.0.3:20082", 20082),
        ("LLM inference server launched at: AREAL_LLM_SERVER_ADDRS=10.11.16.244:20082", 0),
        ("see https://docs.vllm.ai:443/ for help", 0),
    ],
)
def test_port_is_read_from_what_engines_print(tmp_path: Path, line: str, port: int) -> None:
    (tmp_path / "output.log").write_text(f"loading\n{line}\nserving\n")
    assert printed_port(tmp_path / "output.log") == port


async def test_job_is_reached_once_it_has_begun_and_named_its_port(tmp_path: Path) -> None:
    opened: list[tuple[str, int]] = []

    async def open_port(job: str, port: int) -> ServerAddress:
        opened.append((job, port))
        if len(opened) == 1:
            raise EaglerayError("refused", "Nothing listens.")
        return ADDRESS

    output = tmp_path / "output.log"
    place = JobPlace(0, output, open_port)
    assert await place.addresses(evolve(RUNNING, external_id="")) == []
    assert await place.addresses(RUNNING) == []
    output.write_text("listening on http://127.0.0.1:9000\n")
    assert await place.addresses(RUNNING) == []
    assert await place.addresses(RUNNING) == [ADDRESS]
    assert opened == [("77", 9000), ("77", 9000)]


async def test_slurm_job_is_reached_on_its_first_node_at_the_same_local_port() -> None:
    jobs: list[Any] = [None, SimpleNamespace(state="pending", nodelist="")]
    jobs += [SimpleNamespace(state="running", nodelist="gpu[07-09]")] * 2
    requests: list[tuple[list[RouteSpec], str, int, int | None]] = []

    class Queue:
        async def get(self, ssh: str, max_age_s: float) -> Any:
            assert ssh == "login"
            job = jobs.pop(0)
            return SimpleNamespace(job=lambda _: job)

    async def open_routes(routes: list[RouteSpec], host: str, port: int, local: int | None) -> str:
        requests.append((routes, host, port, local))
        return "127.0.0.1:41000"

    queue: Any = Queue()
    port = SlurmPort(queue, "login", LocalPort(open_routes))
    assert [await port.open("77", 8000) for _ in range(4)] == [
        None,
        None,
        ServerAddress("127.0.0.1", 41000),
        ServerAddress("127.0.0.1", 41000),
    ]
    route = RouteSpec("login", "77", "gpu07")
    assert requests == [
        ([route], "127.0.0.1", 8000, 0),
        ([route], "127.0.0.1", 8000, 41000),
    ]


async def test_adopted_server_keeps_its_local_port() -> None:
    requests: list[int | None] = []

    async def open_routes(routes: list[RouteSpec], host: str, port: int, local: int | None) -> str:
        requests.append(local)
        return f"127.0.0.1:{local}"

    port = LocalPort(open_routes, "http://127.0.0.1:41000/v1")
    assert await port.open(RouteSpec("gpu1"), 8000) == ServerAddress("127.0.0.1", 41000)
    assert requests == [41000]


async def test_adopted_server_gets_another_port_if_its_own_was_taken() -> None:
    requests: list[int | None] = []

    async def open_routes(routes: list[RouteSpec], host: str, port: int, local: int | None) -> str:
        requests.append(local)
        if local == 41000:
            raise port_taken(41000, "Address already in use")
        return "127.0.0.1:41001"

    port = LocalPort(open_routes, "http://127.0.0.1:41000/v1")
    opened = [await port.open(RouteSpec("gpu1"), 8000) for _ in range(2)]
    assert opened == [ServerAddress("127.0.0.1", 41001)] * 2
    assert requests == [41000, 0, 41001]


async def test_unreachable_host_is_not_tried_at_another_port() -> None:
    async def open_routes(routes: list[RouteSpec], host: str, port: int, local: int | None) -> str:
        raise EaglerayError("link-lost", "Lost connection.")

    with pytest.raises(EaglerayError) as failed:
        await LocalPort(open_routes, "http://127.0.0.1:41000/v1").open(RouteSpec("gpu1"), 8000)
    assert failed.value.code == "link-lost"


@pytest.mark.parametrize(
    ("cluster", "host"),
    [
        ("", "127.0.0.1"),
        ("http://127.0.0.1:8265", "127.0.0.1"),
        ("http://head:8265", "head"),
        ("ssh://login/http://head:8265", "127.0.0.1"),
        ("slurm://77", "127.0.0.1"),
    ],
)
def test_server_listens_where_this_machine_reaches_it(cluster: str, host: str) -> None:
    assert server_host(cluster) == host


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://h:8000", "http://h:8000/v1"),
        ("http://h:8000/v1/", "http://h:8000/v1"),
        ("https://h/llm/v1", "https://h/llm/v1"),
        ("ftp://h", ""),
        ("http://user:secret@h:1", ""),
        ("http://", ""),
    ],
)
def test_url_gets_its_version_or_is_refused(written: str, url: str) -> None:
    if url:
        assert base_url(written) == url
        return
    with pytest.raises(EaglerayError) as refused:
        base_url(written)
    assert refused.value.code == "bad-server-url"
    assert "secret" not in str(refused.value)
