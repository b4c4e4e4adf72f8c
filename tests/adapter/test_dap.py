"""The framing of the Debug Adapter Protocol, against hostile and broken peers."""

from __future__ import annotations

import asyncio

import pytest
from eagleray.protocol import dap
from hypothesis import given, settings
from hypothesis import strategies as st


async def read_all(raw: bytes) -> list[dap.Message]:
    reader = asyncio.StreamReader()
    reader.feed_data(raw)
    reader.feed_eof()
    read_messages = []
    while (message := await dap.read(reader)) is not None:
        read_messages.append(message)
    return read_messages


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda v: st.lists(v),
    max_leaves=4,
)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.dictionaries(st.text(), values, max_size=3), max_size=4))
def test_written_messages_are_read(bodies: list[dap.Message]) -> None:
    messages = [{"seq": n, **dap.event("stopped", body)} for n, body in enumerate(bodies)]
    raw = b"".join(dap.encode(message) for message in messages)
    assert asyncio.run(read_all(raw)) == messages


def test_unpaired_surrogates_are_encoded() -> None:
    assert asyncio.run(read_all(dap.encode(dap.event("output", {"output": "a\ud800b"}))))


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"\r\n\r\n",
        b"Content-Length: many\r\n\r\n{}",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 4\r\n\r\nnull",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 200000\r\n\r\n" + b"[" * 200000,
        b"Content-Length: 2\r\n\r\n{}",
        b"Content-Length: 3\r\n\r\n\xff\xfe\xfd",
    ],
)
async def test_other_input_raises_not_dap(raw: bytes) -> None:
    with pytest.raises(dap.NotDap):
        await read_all(raw)


@pytest.mark.parametrize("raw", [b"", b"Content-Le", b"Content-Length: 10\r\n\r\n{"])
async def test_cut_connection_reads_as_its_end(raw: bytes) -> None:
    if raw == b"Content-Le":
        with pytest.raises(dap.NotDap):
            await read_all(raw)
    else:
        assert await read_all(raw) == []


def test_failure_escapes_braces_of_its_text() -> None:
    answer = dap.failure({"seq": 3, "command": "evaluate"}, "no {x}")
    assert answer["message"] == "no {x}"
    assert answer["body"]["error"]["format"] == "no {{x}}"
