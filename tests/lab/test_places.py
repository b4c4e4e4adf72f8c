"""Where dashboards listen, and who else does."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator

from tests.lab.eagleray import Eagleray
from tests.lab.hosts import node_address
from tests.lab.ray import LabRay
from tests.lab.site import Site

# A stand-in for a dashboard that is bound to localhost: it hands on to the real one.
RELAY = """
import asyncio, sys
async def pump(reader, writer):
    try:
        while data := await reader.read(65536): writer.write(data)
    finally: writer.close()
async def serve(reader, writer):
    there = await asyncio.open_connection(sys.argv[1], 8265)
    await asyncio.gather(pump(reader, there[1]), pump(there[0], writer), return_exceptions=True)
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 8265)
    print("ready", flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
STRANGER = """
import http.server
print("ready", flush=True)
http.server.HTTPServer(("127.0.0.1", 8265), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


@contextlib.contextmanager
def program(site: Site, host: str, user: str, text: str, *words: str) -> Iterator[None]:
    command = ["python", "-u", "-c", text, *words]
    with site.popen(host, user, command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.kill()


def sentence(eagleray: Eagleray, cluster: str) -> str:
    """Returns what `eagleray clusters` says of it."""
    row = eagleray.cluster(cluster)
    return f"{row['sentence']} {row['problems']}"


def test_dashboard_on_the_address_of_its_node_is_reached(
    ray_site: LabRay, laptop: Eagleray
) -> None:
    """By its name, which only the login node knows, and by the node itself as a jump host."""
    for address in ("ssh://login/node-1:8265", f"ssh://node-1/{node_address('node-1')}:8265"):
        assert "2.60" in sentence(laptop, address)


def test_dashboard_is_reached_at_localhost_where_it_does_not_listen(
    ray_site: LabRay, laptop: Eagleray
) -> None:
    """As the published recipe asks; the dashboard is found at the node's own address."""
    assert "2.60" in sentence(laptop, "ssh://node-1/8265")


def test_dashboard_on_localhost_is_reached(ray_site: LabRay, site: Site, laptop: Eagleray) -> None:
    with program(site, "node-2", "alice", RELAY, node_address("node-1")):
        assert "2.60" in sentence(laptop, "ssh://node-2/8265")


def test_token_is_not_sent_to_a_stranger_on_the_usual_port(
    ray_site: LabRay, site: Site, laptop: Eagleray
) -> None:
    """No token goes there, and it is called what it is."""
    with program(site, "login", "bob", STRANGER):
        assert "Ray" in sentence(laptop, "ssh://login/8265")
        refusal = laptop.refusal("paused", "--cluster", "ssh://login/8265", RAY_AUTH_TOKEN="secret")
        assert "secret" not in refusal
