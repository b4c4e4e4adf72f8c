"""Servers that were added by their address: their state comes from a real token, at the start and after each silence."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web
from eagleray.rollouts.servers.added_servers import AddedServers
from eagleray.rollouts.servers.servers import Servers
from eagleray.runs.adapter_gateway import AdapterRunGateway
from eagleray.runs.records import RunRecords
from eagleray.runs.runs import Runs


class Answering:
    """A server whose health and tokens a test sets; it counts the requests for tokens."""

    def __init__(self) -> None:
        self.health = 200
        self.token = 200
        self.tokens = 0
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        if request.path == "/health":
            return web.Response(status=self.health)
        if request.path == "/v1/models":
            return web.json_response({"data": [{"id": "m"}]})
        self.tokens += 1
        return web.json_response({"choices": [{"text": "!"}]}, status=self.token)


@pytest.fixture
async def answering() -> AsyncIterator[Answering]:
    server = Answering()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    [(_, port)] = runner.addresses
    server.url = f"http://127.0.0.1:{port}/v1"
    yield server
    await runner.cleanup()


def servers_in(folder: Path) -> Servers:
    runs = Runs(RunRecords(folder), AdapterRunGateway(None))
    return Servers(runs, cast(Any, None), AddedServers(folder / "servers.json"))


async def state_in(folder: Path) -> tuple[str, str]:
    """As another window or terminal sees it."""
    [server] = await servers_in(folder).list()
    return server.state, server.reason


async def test_token_is_requested_once_and_again_after_a_silence(
    tmp_path: Path, answering: Answering
) -> None:
    added = await servers_in(tmp_path).add(answering.url, "there")
    assert (added.state, added.model, answering.tokens) == ("ready", "m", 1)
    assert [await state_in(tmp_path) for _ in range(3)] == [("ready", "")] * 3
    assert answering.tokens == 1
    answering.health = 503
    silent = ("unhealthy", f"The server doesn't answer at {answering.url}.")
    assert [await state_in(tmp_path) for _ in range(2)] == [silent] * 2
    assert answering.tokens == 1
    answering.health = 200
    assert [await state_in(tmp_path) for _ in range(2)] == [("ready", "")] * 2
    assert answering.tokens == 2


async def test_server_that_comes_back_with_another_key_is_unhealthy(
    tmp_path: Path, answering: Answering
) -> None:
    await servers_in(tmp_path).add(answering.url, "there", key="sk-old")
    answering.health = 503
    await state_in(tmp_path)
    answering.health, answering.token = 200, 401
    refused = ("unhealthy", "The server rejects the API key.")
    assert [await state_in(tmp_path) for _ in range(3)] == [refused] * 3
    assert answering.tokens == 2
    answering.token = 200
    again = await servers_in(tmp_path).add(answering.url, "there", key="sk-new")
    assert (again.state, await state_in(tmp_path)) == ("ready", ("ready", ""))


async def test_server_that_loads_its_model_is_tried_until_it_generates(
    tmp_path: Path, answering: Answering
) -> None:
    answering.token = 503
    added = await servers_in(tmp_path).add(answering.url, "there")
    assert (added.state, (await state_in(tmp_path))[0]) == ("unhealthy", "unhealthy")
    answering.token = 200
    assert await state_in(tmp_path) == ("ready", "")


async def test_outcome_is_not_stored_for_a_server_that_was_changed(
    tmp_path: Path, answering: Answering
) -> None:
    stored = AddedServers(tmp_path / "servers.json")
    await servers_in(tmp_path).add(answering.url, "there", key="sk-old")
    before = stored.named("there")
    assert before
    await servers_in(tmp_path).add(answering.url, "there", key="sk-new")
    stored.note(before)
    after = stored.named("there")
    assert after and after.api_key == "sk-new"
    stored.remove("there")
    stored.note(before)
    assert stored.all() == []
