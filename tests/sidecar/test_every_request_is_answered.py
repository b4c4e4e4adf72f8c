"""Every request gets a result, an error of the catalogue or of JSON-RPC, or a cancellation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.sidecar.stdio_client import StdioClient, started

ODD = str(Path(__file__).parent / "programs" / "odd_sidecar.py")
SAID = {"text": "some text"}


# One process for all tests that leave it alive: starting it takes longer than most of them.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared() -> AsyncIterator[StdioClient]:
    async with started(ODD) as client:
        await client.initialize()
        yield client


@pytest.fixture
def odd(shared: StdioClient) -> StdioClient:
    shared.notifications.clear()
    return shared


@pytest_asyncio.fixture(loop_scope="module")
async def own() -> AsyncIterator[StdioClient]:
    async with started(ODD) as client:
        await client.initialize()
        yield client


async def test_result_is_returned(odd: StdioClient) -> None:
    said = {"text": "Ünïcode\u2028\n", "inner": {"number": 3}, "grown": "later"}
    answer = await odd.result("eagleray/test/echo", said)
    assert answer == {"text": "Ünïcode\u2028\n", "inner": {"number": 3}}


@pytest.mark.parametrize("params", [{}, None, {"anything": 1}])
async def test_missing_result_is_an_empty_object(odd: StdioClient, params: Any) -> None:
    assert (await odd.ask("eagleray/test/nothing", params))["result"] == {}


async def test_error_of_the_catalogue_is_returned(odd: StdioClient) -> None:
    error = (await odd.ask("eagleray/test/catalogue", {"text": "http://h:1"}))["error"]
    assert error["code"] == -32000
    assert error["message"] == "Nothing answers at http://h:1."
    assert error["data"] == {
        "code": "cluster-unreachable",
        "message": "Nothing answers at http://h:1.",
        "next_step": "Check that Ray is running and that you can reach its dashboard.",
        "output": "",
        "doctor": "machine",
    }


async def test_internal_error_does_not_expose_its_message(odd: StdioClient) -> None:
    error = (await odd.ask("eagleray/test/fails", {"text": "token=abc"}))["error"]
    assert error["data"]["code"] == "internal"
    assert "token=abc" not in str(error)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "required field missing @ $.text"),
        (None, "text"),
        ([1], ""),
        ({"text": 1}, "$.text"),
        ({"text": "t", "inner": {"number": "3"}}, "$.inner.number"),
        ({"text": "t", "inner": {"number": True}}, "$.inner.number"),
    ],
)
async def test_bad_params_are_rejected(odd: StdioClient, params: Any, words: str) -> None:
    error = (await odd.ask("eagleray/test/echo", params))["error"]
    assert error["code"] == -32602
    assert words in error["message"]


@pytest.mark.parametrize("method", ["eagleray/test/none", "workspace/nonsense", ""])
async def test_unknown_method_is_rejected(odd: StdioClient, method: str) -> None:
    assert (await odd.ask(method, {}))["error"]["code"] == -32601


async def test_cancelled_request_is_answered(odd: StdioClient) -> None:
    request_id, answer = odd.begin("eagleray/test/waits", SAID)
    await odd.heard("eagleray/test/waiting")
    odd.notify("$/cancelRequest", {"id": request_id})
    assert (await answer)["error"]["code"] == -32800
    await odd.heard("eagleray/test/ended")


async def test_late_cancellation_is_ignored(odd: StdioClient) -> None:
    odd.notify("$/cancelRequest", {"id": 4711})
    assert await odd.result("eagleray/test/nothing") == {}


async def test_progress_is_reported_until_its_end(odd: StdioClient) -> None:
    await odd.result("eagleray/test/reports", {**SAID, "workDoneToken": "t1"})
    reported = [value["value"] for name, value in odd.notifications if name == "$/progress"]
    assert [value["kind"] for value in reported] == ["begin", "report", "report", "end"]
    assert reported[1] == {"kind": "report", "message": "half", "percentage": 50}
    assert reported[2] == {"kind": "report", "message": "nearly"}


async def test_progress_is_not_reported_without_a_token(odd: StdioClient) -> None:
    await odd.result("eagleray/test/reports", SAID)
    assert not [name for name, _ in odd.notifications if name == "$/progress"]


async def test_output_of_prints_does_not_disturb_messages(odd: StdioClient) -> None:
    assert await odd.result("eagleray/test/prints") == {}
    assert await odd.result("eagleray/test/nothing") == {}


async def test_message_that_is_not_json_is_rejected(odd: StdioClient) -> None:
    answer = odd.answer_to(None)
    odd.send_raw(b"{nonsense")
    assert (await answer)["error"]["code"] == -32700
    assert await odd.result("eagleray/test/nothing") == {}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"jsonrpc": "2.0", "id": "a", "method": "textDocument/hover", "params": 3}, -32602),
        ({"jsonrpc": "2.0", "id": "a", "method": ["x"]}, -32600),
    ],
)
async def test_unreadable_request_is_rejected(odd: StdioClient, message: Any, code: int) -> None:
    answer = odd.answer_to("a")
    odd.send(message)
    assert (await answer)["error"]["code"] == code
    assert await odd.result("eagleray/test/nothing") == {}


async def test_batch_is_rejected(odd: StdioClient) -> None:
    answer = odd.answer_to(None)
    odd.send([{"jsonrpc": "2.0", "id": 1, "method": "eagleray/test/nothing"}])
    assert (await answer)["error"]["code"] == -32600


async def test_keys_of_the_protocol_inside_params_stay_plain(odd: StdioClient) -> None:
    said = {"text": "t", "extra": {"jsonrpc": "2.0", "id": 1, "method": "exit", "params": {}}}
    assert await odd.result("eagleray/test/echo", said) == {"text": "t", "inner": None}


async def test_request_after_shutdown_is_rejected(own: StdioClient) -> None:
    _, waiting = own.begin("eagleray/test/waits", SAID)
    await own.heard("eagleray/test/waiting")
    await own.ask("shutdown")
    assert (await waiting)["error"]["code"] == -32800
    assert (await own.ask("eagleray/test/nothing", {}))["error"]["code"] == -32600
    own.notify("exit", None)
    assert await own.process.wait() == 0


async def test_request_before_initialize_is_rejected() -> None:
    async with started(ODD) as client:
        assert (await client.ask("eagleray/test/nothing", {}))["error"]["code"] == -32601
        assert "capabilities" in (await client.initialize())["result"]


async def test_failing_background_task_does_not_affect_requests(own: StdioClient) -> None:
    await own.heard("eagleray/test/background")
    assert await own.result("eagleray/test/nothing") == {}


async def test_sidecar_ends_with_standard_input() -> None:
    async with started(ODD) as client:
        await client.initialize()
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert await client.process.wait() == 0


async def test_requests_of_several_callers_overlap(odd: StdioClient) -> None:
    _, waiting = odd.begin("eagleray/test/waits", SAID)
    await odd.heard("eagleray/test/waiting")
    assert await odd.result("eagleray/test/nothing") == {}
    assert not waiting.done()
