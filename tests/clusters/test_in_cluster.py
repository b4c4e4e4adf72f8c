"""The scripts that look for dashboards, run as they are run on a site: as text, by a bare Python."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from eagleray.remote.scripts import ask_nodes, find_dashboards
from eagleray.slurm.client import NodeAnswer, SlurmClient
from eagleray.tools.commands import Commands

from tests.fakes.dashboard import FakeDashboard, dashboard

DASHBOARD = """
import http.server, json, socket, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = json.dumps({"ray_version": "2.60.0", "session_name": "session_inside"}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(said)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
other = socket.create_server(("127.0.0.1", 0))
print(server.server_port, flush=True)
server.serve_forever()
"""


async def no_ssh(*_: object) -> None:
    raise AssertionError


Ask = Callable[[int, str], Awaitable[NodeAnswer]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    async def asked(port: int, host: str) -> NodeAnswer:
        monkeypatch.setattr("eagleray.slurm.client.USUAL_PORT", port)
        (answer,) = await SlurmClient(Commands(no_ssh)).ask_nodes("", [host])
        return answer

    return asked


async def test_node_with_a_dashboard_is_described(ask: Ask) -> None:
    async with dashboard() as fake:
        answer = await ask(fake.port, "127.0.0.1")
        assert (answer.answer, answer.session, answer.ray) == ("ray", fake.session, "2.60.0")
        fake.token = "secret"
        assert (await ask(fake.port, "127.0.0.1")).answer == "ray"
        fake.token, fake.fault = "", "web_page"
        assert (await ask(fake.port, "127.0.0.1")).answer == "other"


async def test_nodes_without_dashboard_are_classified(ask: Ask) -> None:
    assert (await ask(1, "127.0.0.1")).answer == "refused"
    assert (await ask(1, "no-such-host.invalid")).answer == "unknown"


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that looks like a dashboard and listens on localhost, on a port of its own."""
    script = tmp_path / "ray" / "dashboard" / "dashboard.py"
    script.parent.mkdir(parents=True)
    script.write_text(DASHBOARD)
    env = {**os.environ, "SLURM_JOB_ID": "12"}
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=env
    ) as process:
        assert process.stdout
        yield process, int(process.stdout.readline())
        process.kill()


def test_only_dashboards_of_this_user_are_listed(inside: tuple[subprocess.Popen[str], int]) -> None:
    _, port = inside
    (found,) = [one for one in find_dashboards.find_dashboards("12") if one["port"] == port]
    assert (found["address"], found["session"]) == ("127.0.0.1", "session_inside")
    assert isinstance(found["started"], int)
    assert found["started"] > 0
    # It says of itself that it runs in another job.
    assert [one for one in find_dashboards.find_dashboards("13") if one["port"] == port] == []


def test_dashboard_with_unreadable_sockets_is_identified_by_its_port() -> None:
    own = {"1": ("127.0.0.1", 8265, 0), "2": ("10.0.0.1", 9000, 0)}
    pid = "0"
    assert find_dashboards.endpoints_of(pid, [b"python", b"--port=9000"], own) == [own["2"]]
    assert find_dashboards.endpoints_of(pid, [b"python"], own) == [own["1"]]


@pytest.mark.parametrize("module", [ask_nodes, find_dashboards])
def test_scripts_can_be_parsed_by_python_3_6(module: object) -> None:
    """Login nodes have 3.6 as their `python3`."""
    text = Path(str(module.__file__)).read_text()
    ast.parse(text, feature_version=(3, 6))
    assert "removeprefix" not in text
    assert "from __future__" not in text


async def test_invalid_answers_are_not_dashboards(ask: Ask) -> None:
    fake = FakeDashboard()
    await fake.start()
    try:
        fake.version = {"ray_version": 3}
        assert (await ask(fake.port, "127.0.0.1")).answer == "other"
    finally:
        await fake.stop()
