"""Connections to a dashboard other than plain TCP: sockets of routes, TLS with an own authority, proxies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from attrs import evolve
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.common.errors import EaglerayError
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.endpoint import Endpoint, FindEndpoint

from tests.fakes.dashboard import FakeDashboard, dashboard, patient
from tests.fakes.proxy import IN_URL, NAME, VALUE, Authority, proxy_before
from tests.fakes.relay import Relay, relay_to

CLUSTER = "ssh://login/http://node-1:8265"
PATIENCE_S = 60.0


def given(look: bool) -> dict[str, str]:
    return {NAME: VALUE}


def through(relay: Relay, url: str = "http://node-1:8265", ca_file: str = "") -> FindEndpoint:
    """Returns the connection as it is at the request, like the adapter's."""

    async def find() -> Endpoint:
        return Endpoint(url, relay.path, ca_file, given)

    return find


def to(way: Endpoint) -> FindEndpoint:
    async def find() -> Endpoint:
        return way

    return find


@pytest.fixture
async def fake() -> AsyncIterator[FakeDashboard]:
    async with dashboard() as running:
        yield running


@pytest.fixture
async def relay(fake: FakeDashboard) -> AsyncIterator[Relay]:
    async with relay_to(fake.port) as running:
        yield running


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


async def code_of(client: Dashboard) -> str:
    with pytest.raises(EaglerayError) as failed:
        await client.version()
    await client.close()
    assert VALUE not in f"{failed.value} {failed.value.detail}"
    return failed.value.code


async def test_cluster_keeps_its_id_through_a_socket(fake: FakeDashboard, relay: Relay) -> None:
    client = patient(CLUSTER, find_endpoint=through(relay))
    assert (await client.version()).session == fake.session
    assert len(await client.paused_workers()) == 3
    assert fake.requests[0].headers["Host"] == "node-1:8265"
    assert relay.asked == 1
    fake.fault = "garbage"
    with pytest.raises(EaglerayError) as failed:
        await client.version()
    assert CLUSTER in failed.value.message
    await client.close()


async def test_rebuilt_socket_is_used_within_the_same_request(
    fake: FakeDashboard, relay: Relay
) -> None:
    client = patient(CLUSTER, find_endpoint=through(relay))
    await client.version()
    await relay.stop()
    await relay.start()
    assert (await client.version()).session == fake.session
    await client.close()


async def test_reason_for_a_closed_route_is_shown_to_the_user(relay: Relay) -> None:
    closed = EaglerayError("ssh-refused", "The host refuses the key.")
    answers: list[Callable[[], Endpoint]] = []

    async def find() -> Endpoint:
        return answers.pop(0)()

    def refused() -> Endpoint:
        raise closed

    def there() -> Endpoint:
        return Endpoint("http://node-1:8265", relay.path)

    answers += [refused, there, refused, there]
    client = patient(CLUSTER, find_endpoint=find)
    assert [await code(client) for _ in range(2)] == ["ssh-refused", ""]
    await relay.stop()
    assert await code(client) == "ssh-refused"
    await relay.start()
    assert await code(client) == ""
    await client.close()


async def code(client: Dashboard) -> str:
    try:
        await client.version()
    except EaglerayError as error:
        return error.code
    return ""


async def test_slow_endpoint_is_resolved_once_and_outlasts_the_request(
    fake: FakeDashboard, relay: Relay
) -> None:
    answered = asyncio.Event()
    looks = 0

    async def find() -> Endpoint:
        nonlocal looks
        looks += 1
        await answered.wait()
        return Endpoint("http://node-1:8265", relay.path)

    client = Dashboard(CLUSTER, find_endpoint=find, quick_s=0.1)
    assert [await code(client) for _ in range(3)] == ["cluster-connecting"] * 3
    answered.set()
    client._quick_s = PATIENCE_S
    assert (await client.version()).session == fake.session
    assert looks == 1
    await client.close()


async def test_closing_ends_the_search_for_the_route() -> None:
    ended = asyncio.Event()
    began = asyncio.Event()

    async def find() -> Endpoint:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    client = patient(CLUSTER, find_endpoint=find)
    asking = asyncio.create_task(code(client))
    await began.wait()
    await client.close()
    assert ended.is_set()
    assert await asyncio.wait_for(asking, PATIENCE_S) == "cluster-unreachable"


async def test_hanging_request_is_repeated_after_a_reset(fake: FakeDashboard, relay: Relay) -> None:
    client = patient(CLUSTER, find_endpoint=through(relay))
    await client.version()
    relay.silent = True
    asking = [asyncio.create_task(client.paused_workers()) for _ in range(20)]
    await asyncio.wait_for(relay.swallowed.wait(), PATIENCE_S)
    relay.silent = False
    client.reset()
    answers = await asyncio.wait_for(asyncio.gather(*asking), PATIENCE_S)
    assert [len(answer) for answer in answers] == [3] * 20
    await client.close()


async def test_requests_do_not_pile_up_behind_a_silent_link(
    fake: FakeDashboard, relay: Relay
) -> None:
    watch = ClusterWatch()
    watch.add(patient(CLUSTER, find_endpoint=through(relay)), poll=False)
    await watch.refresh()
    before = len(fake.requests)
    relay.silent = True
    waiting = [asyncio.create_task(watch.refresh()) for _ in range(50)]
    await asyncio.wait_for(relay.swallowed.wait(), PATIENCE_S)
    relay.silent = False
    watch.reset(CLUSTER)
    await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE_S)
    assert watch.status(CLUSTER).error is None
    polls = [path for path in fake.paths()[before:] if path == "/api/v0/workers"]
    # The one that was under way and the one that all others share, each with its count of workers.
    assert len(polls) <= 4
    await watch.close()


async def test_reset_wakes_a_watch_that_had_given_up_for_a_while(
    fake: FakeDashboard, relay: Relay
) -> None:
    await relay.stop()
    watch = ClusterWatch()
    seen = asyncio.Queue[str]()
    watch.listen(lambda now: seen.put_nowait(now.state))
    watch.add(patient(CLUSTER, find_endpoint=through(relay)))
    while await asyncio.wait_for(seen.get(), PATIENCE_S) != "unreachable":
        pass
    await relay.start()
    watch.reset(CLUSTER)
    while await asyncio.wait_for(seen.get(), PATIENCE_S) != "connected":
        pass
    await watch.close()


async def test_tls_works_with_a_private_authority_a_prefix_and_a_header(
    fake: FakeDashboard, authority: Authority
) -> None:
    fake.token = "token-of-ray"
    async with proxy_before(fake.port, authority.server("IP:127.0.0.1")) as proxy:
        url = f"https://127.0.0.1:{proxy.port}{IN_URL}"
        way = Endpoint(url, ca_file=authority.file, headers=given)
        client = patient(url, lambda look: "token-of-ray", to(way))
        assert (await client.version()).session == fake.session
        assert len(await client.paused_workers()) == 3
        await client.close()
        without = patient(url, find_endpoint=to(evolve(way, headers=lambda look: {})))
        assert await code_of(without) == "proxy-refused"
        wrong = patient(url, lambda look: "wrong", to(way))
        assert await code_of(wrong) == "token-refused"
        untrusted = patient(url, lambda look: "token-of-ray", to(evolve(way, ca_file="")))
        assert await code_of(untrusted) == "ca-needed"
        heads = len(proxy.heads)
        bad = patient(url, find_endpoint=to(evolve(way, ca_file="/nowhere.pem")))
        assert await code_of(bad) == "bad-ca-file"
        assert len(proxy.heads) == heads


async def test_tls_through_a_socket_verifies_the_remote_host(
    fake: FakeDashboard, authority: Authority
) -> None:
    context = authority.server("DNS:proxy.example")
    async with proxy_before(fake.port, context) as proxy, relay_to(proxy.port) as relay:
        url = f"https://proxy.example{IN_URL}"
        client = patient(CLUSTER, find_endpoint=through(relay, url, authority.file))
        assert (await client.version()).session == fake.session
        assert "Host: proxy.example\r\n" in proxy.heads[-1]
        await client.close()
        other = f"https://other.example{IN_URL}"
        client = patient(CLUSTER, find_endpoint=through(relay, other, authority.file))
        assert await code_of(client) == "certificate-refused"
        assert await code_of(patient(CLUSTER, find_endpoint=through(relay, url))) == "ca-needed"


async def test_proxy_that_wants_the_usual_header_leaves_ray_its_own(
    fake: FakeDashboard, relay: Relay
) -> None:
    fake.token = "token-of-ray"
    way = Endpoint(
        "http://node-1:8265", relay.path, headers=lambda look: {"Authorization": "Basic x"}
    )
    client = patient(CLUSTER, lambda look: "token-of-ray", to(way))
    fake.token = ""
    await client.version()
    assert fake.sent_tokens() == ["Basic x"]
    client._http._token_wanted = True
    await client.version()
    assert fake.sent_tokens()[1:] == ["Basic x", "Bearer token-of-ray"]
    await client.close()


async def test_headers_follow_no_redirect(fake: FakeDashboard) -> None:
    async with dashboard() as elsewhere:
        client = patient(CLUSTER, find_endpoint=to(Endpoint(fake.address, headers=given)))
        fake.fault = "redirect"
        assert await code_of(client) == "redirected"
        assert elsewhere.requests == []
        assert fake.paths() == ["/api/version"]


async def test_headers_are_not_sent_to_a_server_that_replaced_the_cluster(
    fake: FakeDashboard,
) -> None:
    strangers = False

    def headers(look: bool) -> dict[str, str]:
        return {} if look and strangers else {NAME: VALUE}

    client = patient(fake.address, find_endpoint=to(Endpoint(fake.address, headers=headers)))
    await client.version()
    assert fake.requests[-1].headers[NAME] == VALUE
    await fake.stop()
    await fake.start(fake.port)
    strangers = True
    before = len(fake.requests)
    assert await code_of(client) == "headers-kept-back"
    assert len(fake.requests) == before


async def test_token_that_was_good_and_is_refused_has_expired(fake: FakeDashboard) -> None:
    fake.token = "first"
    client = patient(fake.address, lambda look: "first")
    await client.version()
    fake.token = "second"
    assert await code_of(client) == "token-expired"
