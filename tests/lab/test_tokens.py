"""Tokens through a route: asked for, refused, taken, expired; they go to no cluster but the one that they are for."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from eagleray.clusters import messages as clusters

from tests.lab.eagleray import Eagleray
from tests.lab.hosts import node_address
from tests.lab.many import FakeCluster, fake_dashboard
from tests.lab.site import Site
from tests.sidecar.stdio_client import StdioClient

# It tells what it was sent, and ends with its standard input.
ASKS_AS_RAY = """
import http.server, json, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        token = self.headers.get("Authorization", "")
        print(token or "nothing")
        is_mode = self.path == "/api/authentication_mode"
        said = json.dumps({"authentication_mode": "token"}) if is_mode else "authentication token"
        self.send_response(200 if is_mode else 403 if token else 401)
        self.end_headers()
        self.wfile.write(said.encode())
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8265), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready")
sys.stdin.read()
"""
ADDRESS = "ssh://login/node-5:8265"
TOKEN = "the right token"


@pytest.fixture
def guarded(site: Site) -> Iterator[FakeCluster]:
    with fake_dashboard(site, "node-5", {node_address("node-5"): [1, 2]}, TOKEN) as fake:
        yield fake


async def problem(client: StdioClient, token: str | None = None) -> str:
    """Returns what the cluster's row says after the token was typed; "" if all is well."""
    added = await client.result(clusters.ADD, {"address": ADDRESS})
    if token is not None:
        access = {"cluster": added["id"], "token": token, "headers": None, "ca_file": None}
        added = await client.result(clusters.SET_ACCESS, access)
    problems = added["problems"]
    return str(problems[0]["code"]) if problems else ""


async def test_token_is_reported_as_missing_wrong_or_expired(
    guarded: FakeCluster, laptop: Eagleray
) -> None:
    async with laptop.sidecar() as client:
        await client.initialize()
        assert await problem(client) == "token-needed"
        assert await problem(client, "a wrong token") == "token-refused"
        assert await problem(client, TOKEN) == ""
        guarded.say("another token")
        seen = await client.result(clusters.REFRESH)
        assert [p["code"] for p in seen["clusters"][0]["problems"]] == ["token-expired"]
        await client.end()


@pytest.mark.parametrize(
    ("user", "code"), [("bob", "stranger-listens"), ("alice", "token-refused")]
)
async def test_program_that_poses_as_ray_on_a_shared_login_node_gets_no_token(
    site: Site, laptop: Eagleray, user: str, code: str
) -> None:
    """A cluster that was added is over, and another program listens at its port; only its owner is sent a token."""
    command = ["python", "-u", "-c", ASKS_AS_RAY]
    with site.popen(
        "login", user, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        assert process.stdout.readline() == "ready\n"
        async with laptop.sidecar() as client:
            await client.initialize()
            asked = {"address": "ssh://login/8265", "token": TOKEN}
            answer = await client.ask(clusters.ADD, asked)
            problems = (
                answer["result"]["problems"] if "result" in answer else [answer["error"]["data"]]
            )
            assert [problem["code"] for problem in problems] == [code]
            await client.end()
        process.stdin.close()
        told = process.stdout.read()
    assert (TOKEN in told) is (user == "alice")
