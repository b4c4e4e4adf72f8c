"""The stream that survives its connections: every byte arrives once and in order, wherever it is cut."""

from __future__ import annotations

import pytest
from eagleray.remote.injected.debug_proxy.dap_conversation import DapMessages, with_header
from eagleray.remote.injected.debug_proxy.frames import (
    BEAT,
    DATA,
    HEAD,
    LARGEST,
    TAKEN,
    BrokenStream,
    IncomingStream,
    OutgoingStream,
    frame,
)
from hypothesis import given
from hypothesis import strategies as st


class _Link:
    """One end sends, the other receives; a cut loses what is in transit."""

    def __init__(self) -> None:
        self.out, self.incoming = OutgoingStream(), IncomingStream()
        self.heard = b""
        self._way = b""

    def say(self, data: bytes) -> None:
        self._way += self.out.add(data)

    def carry(self, count: int) -> None:
        arrived, self._way = self._way[:count], self._way[count:]
        for kind, _, body in self.incoming.feed(arrived):
            assert kind == DATA
            self.heard += body

    def acknowledge(self) -> None:
        self.out.acknowledge(self.incoming.received)

    def cut(self) -> None:
        self.incoming.restart()
        self._way = self.out.unacknowledged(self.incoming.received)


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.binary(max_size=60)),
        st.tuples(st.just("carry"), st.integers(0, 80)),
        st.tuples(st.just("acknowledge"), st.none()),
        st.tuples(st.just("cut"), st.none()),
    )
)


@given(_STEPS)
def test_every_byte_arrives_once_and_in_order(steps: list[tuple[str, object]]) -> None:
    link, said = _Link(), b""
    for name, what in steps:
        if isinstance(what, bytes):
            said += what
        getattr(link, name)(*([] if what is None else [what]))
        assert said.startswith(link.heard)
    link.cut()
    link.carry(10**6)
    assert link.heard == said
    link.acknowledge()
    assert link.out.size == 0


def test_large_writes_are_cut_into_frames() -> None:
    out, incoming = OutgoingStream(), IncomingStream()
    found = incoming.feed(out.add(b"x" * (LARGEST + 1)))
    assert [len(body) for _, _, body in found] == [LARGEST, 1]


@pytest.mark.parametrize(
    "data", [HEAD.pack(9, 0), HEAD.pack(DATA, LARGEST + 1), b"GET / HTTP/1.1\r\n\r\n"]
)
def test_invalid_frames_are_refused(data: bytes) -> None:
    with pytest.raises(BrokenStream):
        IncomingStream().feed(data)


@pytest.mark.parametrize("count", [-1, 4, 2**60])
def test_impossible_counts_are_refused(count: int) -> None:
    out = OutgoingStream()
    out.add(b"abc")
    with pytest.raises(BrokenStream):
        out.acknowledge(count)


def test_beats_and_counts_carry_no_bytes() -> None:
    incoming = IncomingStream()
    assert incoming.feed(frame(BEAT) + frame(TAKEN, 7)) == [(BEAT, 0, b""), (TAKEN, 7, b"")]
    assert incoming.received == 0


@given(st.lists(st.binary(max_size=50)), st.integers(1, 20))
def test_messages_are_complete_however_they_are_split(bodies: list[bytes], size: int) -> None:
    stream = b"".join(b"Eagleray: listens\r\n" + with_header(body) for body in bodies)
    messages = DapMessages()
    found = []
    for at in range(0, len(stream), size):
        found += messages.feed(stream[at : at + size])
    assert found == bodies


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: x\r\n\r\n",
        b"\r\n\r\n",
        b"a" * 10_000,
    ],
)
def test_invalid_debugger_messages_are_refused(data: bytes) -> None:
    with pytest.raises(BrokenStream):
        DapMessages().feed(data)
