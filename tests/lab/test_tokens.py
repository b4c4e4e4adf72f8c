"""Tokens through a route: asked for, refused, taken, expired; they go to no cluster but the one that they are for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from eagleray.features.clusters import messages as clusters

from tests.lab.eagleray import Eagleray
from tests.lab.hosts import node_address
from tests.lab.many import FakeCluster, fake_dashboard
from tests.lab.site import Site
from tests.sidecar.stdio_client import StdioClient

pytestmark = pytest.mark.timeout(300)

ADDRESS = "ssh://login/node-5:8265"
TOKEN = "the right token"


@pytest.fixture
def guarded(site: Site) -> Iterator[FakeCluster]:
    with fake_dashboard(site, "node-5", {node_address("node-5"): [1, 2]}, TOKEN) as fake:
        yield fake


async def problem(client: StdioClient, token: str | None = None) -> str:
    """What the cluster's row says after that token was typed; "" if all is well."""
    added = await client.result(clusters.ADD, {"address": ADDRESS})
    if token is not None:
        access = {"cluster": added["id"], "token": token, "headers": None, "ca_file": None}
        added = await client.result(clusters.SET_ACCESS, access)
    problems = added["problems"]
    return str(problems[0]["code"]) if problems else ""


async def test_missing_wrong_right_and_expired(guarded: FakeCluster, laptop: Eagleray) -> None:
    async with laptop.sidecar() as client:
        await client.initialize()
        assert await problem(client) == "token-needed"
        assert await problem(client, "a wrong token") == "token-refused"
        assert await problem(client, TOKEN) == ""
        guarded.say("another token")
        seen = await client.result(clusters.REFRESH)
        assert [p["code"] for p in seen["clusters"][0]["problems"]] == ["token-expired"]
        await client.end()
