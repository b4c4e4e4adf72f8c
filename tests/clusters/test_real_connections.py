"""A real Ray that asks for a token, behind a route and behind a proxy."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.clusters.addresses import host_and_port
from eagleray.clusters.credentials import TokenRules
from eagleray.common.errors import EaglerayError
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.endpoint import Endpoint, FindEndpoint

from tests.fakes.dashboard import patient
from tests.fakes.proxy import IN_URL, NAME, VALUE, Authority, proxy_before
from tests.fakes.relay import relay_to
from tests.ray_cluster import RayCluster
from tests.shared_clusters import TOKEN

pytestmark = [pytest.mark.real_ray, pytest.mark.cluster("token")]

ROUTED = "ssh://login/http://127.0.0.1:8265"
FOUND = "slurm://12"


def to(way: Endpoint) -> FindEndpoint:
    async def find() -> Endpoint:
        return way

    return find


async def code_of(client: Dashboard) -> str:
    try:
        await client.version()
    except EaglerayError as error:
        assert TOKEN not in f"{error} {error.detail}"
        return error.code
    finally:
        await client.close()
    return ""


async def test_token_is_sent_through_a_route_to_an_added_cluster(cluster: RayCluster) -> None:
    async with relay_to(host_and_port(cluster.address)[1]) as relay:
        way = to(Endpoint("http://127.0.0.1:8265", relay.path))
        rules = TokenRules({"RAY_AUTH_TOKEN": TOKEN})
        assert await code_of(patient(FOUND, rules.source(FOUND, lambda: False), way)) == (
            "token-needed"
        )
        assert await code_of(patient(ROUTED, rules.source(ROUTED, lambda: True), way)) == ""
        rules.type_in(FOUND, "wrong")
        assert await code_of(patient(FOUND, rules.source(FOUND, lambda: False), way)) == (
            "token-refused"
        )
        rules.type_in(FOUND, TOKEN)
        client = patient(FOUND, rules.source(FOUND, lambda: False), way)
        assert (await client.version()).session == cluster.session
        rules.type_in(FOUND, "another")
        with pytest.raises(EaglerayError) as failed:
            await client.paused_workers()
        assert failed.value.code == "token-refused"
        await client.close()


async def test_profiling_that_is_off_does_not_mean_a_refused_token(cluster: RayCluster) -> None:
    async with relay_to(host_and_port(cluster.address)[1]) as relay:
        way = to(Endpoint("http://127.0.0.1:8265", relay.path))
        client = patient(ROUTED, lambda look: TOKEN, way)
        assert not await client.profiling_enabled()
        with pytest.raises(EaglerayError) as failed:
            await client.traceback(1, "127.0.0.1")
        assert failed.value.code == "dashboard-failed"
        assert await client.paused_workers() == []
        await client.close()


async def test_cluster_behind_a_proxy_connects_with_tls_a_prefix_and_headers(
    cluster: RayCluster, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    context = authority.server("DNS:proxy.example")
    upstream = host_and_port(cluster.address)[1]
    async with proxy_before(upstream, context) as proxy, relay_to(proxy.port) as relay:
        url = f"https://proxy.example{IN_URL}"
        headers = {NAME: VALUE}
        way = Endpoint(url, relay.path, authority.file, lambda look: headers)
        client = patient(url, lambda look: TOKEN, to(way))
        assert (await client.version()).session == cluster.session
        assert [node.head for node in await client.nodes()] == [True]
        await client.close()
        assert await code_of(patient(url, find_endpoint=to(way))) == "token-needed"
        assert await code_of(patient(url, lambda look: "wrong", to(way))) == "token-refused"
        headers.clear()
        assert await code_of(patient(url, lambda look: TOKEN, to(way))) == "proxy-refused"
