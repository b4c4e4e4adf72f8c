"""The answer of a cluster is read, or rejected with an error of the catalogue."""

import json

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.observe.hangs.collecting.cluster import answer_of
from eagleray.observe.hangs.model import SilentNode
from eagleray.remote.sampling import sample_codec

SILENT = {"node_id": "a", "host": "10.0.0.2", "reason": "timeout", "detail": "\x1b[31mx"}


def answer(**more: object) -> bytes:
    return json.dumps(
        {"samples": sample_codec.dump([]), "nodes": [], "silent": [], **more}
    ).encode()


def test_silent_node_is_read_without_control_characters() -> None:
    read = answer_of("http://head:8265", answer(silent=[SILENT]))
    assert read.silent == (SilentNode("10.0.0.2", "timeout", " [31mx"),)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b"[" * 100_000,
        answer(samples=None),
        answer(silent=None),
        answer(nodes=None),
        answer(nodes=["a"]),
        answer(silent=[1]),
        answer(silent=[{**SILENT, "reason": "<b>"}]),
    ],
)
def test_other_answers_are_rejected(content: bytes) -> None:
    with pytest.raises(EaglerayError) as raised:
        answer_of("http://head:8265", content)
    assert raised.value.code == "unreadable-answer"
