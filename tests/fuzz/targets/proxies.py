"""The protocol of debug proxies: the conversation with debugpy, its frames over lost links, lines, and signed requests."""

from __future__ import annotations

import json
import random
import zlib
from typing import Any

from eagleray.remote.injected import ed25519
from eagleray.remote.injected.debug_proxy import dap_conversation as proxy_talk
from eagleray.remote.injected.debug_proxy import frames, request
from eagleray.remote.injected.jsonlines import MessageBuffer

from tests.fuzz.target import Target
from tests.fuzz.targets.wire import ANSWER, REQUEST, STOPPED, WORDS, framed, pieces


def follow_talk(data: bytes) -> None:
    """The debug proxy follows both directions of a conversation with debugpy."""
    messages, talk = proxy_talk.DapMessages(), proxy_talk.DapConversation()
    for piece in pieces(data):
        for body in messages.feed(piece):
            talk.follow_request(body)
            for matches in (True, False):
                talk.follow_reply(body, matches)
    json.dumps(talk.inherited())


def follow_messages(said: Any) -> None:
    if isinstance(said, list):
        follow_talk(framed(*(one for one in said if isinstance(one, dict))))


def proxy_frames(data: bytes) -> None:
    """All bytes of DATA arrive in order, however they are cut."""
    whole, cut = frames.IncomingStream(), frames.IncomingStream()
    found = whole.feed(data)
    assert found == [one for piece in pieces(data) for one in cut.feed(piece)]
    assert whole.received == sum(len(body) for _, _, body in found)


def proxy_stream(data: bytes) -> None:
    """Bytes that one end sends over cut connections reach the other end, each once."""
    rand = random.Random(zlib.crc32(data))
    outgoing, incoming, arrived = frames.OutgoingStream(), frames.IncomingStream(), b""
    for piece in pieces(data):
        sent = outgoing.add(piece)
        arrived += b"".join(
            body for _, _, body in incoming.feed(sent[: rand.randint(0, len(sent))])
        )
        incoming.restart()
        again = outgoing.unacknowledged(incoming.received)
        arrived += b"".join(body for _, _, body in incoming.feed(again))
    assert arrived == data


def proxy_lines(data: bytes) -> None:
    found = MessageBuffer(4096).split(data)
    cut = MessageBuffer(4096)
    assert found == [line for piece in pieces(data) for line in cut.split(piece)]


KEY = ed25519.SecretKey(bytes(range(32)))
NONCE = bytes(32)
ADDRESS = ("10.0.0.1", 4000)
SIGNED = request.signed(KEY, "0123456789ab", ADDRESS, NONCE, {"want": "debug"})[:-1]


def proxy_request(line: bytes) -> None:
    """Nothing but what was signed is accepted."""
    public = KEY.public.hex()
    found = request.verified(public, "0123456789ab", [ADDRESS], NONCE, line)
    assert found is None or line.partition(b" ")[2] == SIGNED.partition(b" ")[2]


PROXY = (
    frames.frame(frames.DATA, 3)
    + b"abc"
    + frames.frame(frames.TAKEN, 3)
    + frames.frame(frames.BEAT)
    + frames.frame(frames.END)
)

TARGETS = [
    Target(
        "proxy-talk",
        "bytes",
        follow_talk,
        [framed(REQUEST, ANSWER, STOPPED), framed(STOPPED, {**STOPPED, "event": "continued"})],
        (frames.BrokenStream,),
        WORDS,
    ),
    Target(
        "proxy-talk-values",
        "value",
        follow_messages,
        [[REQUEST, ANSWER, STOPPED], [STOPPED, {**STOPPED, "event": "continued"}, REQUEST]],
        (frames.BrokenStream,),
    ),
    Target("proxy-requests", "bytes", proxy_request, [SIGNED]),
    Target("proxy-frames", "bytes", proxy_frames, [PROXY, PROXY * 3], (frames.BrokenStream,)),
    Target("proxy-stream", "bytes", proxy_stream, [b"a stream", bytes(300)]),
    Target(
        "proxy-lines", "bytes", proxy_lines, [b'{"op": "debug"}\n{"op": "go"}\n'], (ValueError,)
    ),
]
