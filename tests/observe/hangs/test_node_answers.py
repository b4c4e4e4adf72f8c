"""Lines of nodes become samples; what is damaged, foreign or late costs only its own node."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from dataclasses import replace
from typing import Any

import pytest
from eagleray.observe.hangs.collecting.hosts import SharedQuestion
from eagleray.observe.hangs.collecting.node_streams import (
    COLD_S,
    READ_S,
    WARM_S,
    NodeAnswers,
    SamplingOrder,
)
from eagleray.observe.hangs.inside_questions import Question
from eagleray.observe.hangs.model import SilentNode
from eagleray.remote.sampling import sample_codec
from eagleray.remote.sampling.exits import Ending
from eagleray.remote.sampling.native import NativeFrame, NativeReading
from eagleray.remote.sampling.node_sampler import NodeSamples, ProcessSample, Round
from eagleray.remote.sampling.processes import RANK, Described

ORDER = SamplingOrder(rounds=3, pause_s=0.0)
PROCESS = Described(100, 1, RANK, "world", 3, "train.py")
SAMPLE = ProcessSample("S", "", 1.0, "timeout", "", False)
SAMPLES = NodeSamples("anything", (PROCESS,), (Round((SAMPLE,), (), ()),))


class Received:
    """The answers of two nodes, with a clock of their own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.progress: list[int] = []
        self.answers = NodeAnswers(
            ORDER, ["a", "b"], lambda done, _: self.progress.append(done), lambda: self.now
        )

    def line(self, node: str, kind: str, text: str = "", mark: str = ORDER.mark) -> None:
        self.answers.feed(f"{mark} {node} {kind} {text}".encode())

    def answer(self, node: str, value: Any, digest: str = "") -> None:
        content = zlib.compress(json.dumps(value).encode())
        text = base64.b64encode(content).decode()
        for at in range(0, len(text), 100):
            self.line(node, "part", text[at : at + 100])
        self.line(node, "end", digest or hashlib.sha256(content).hexdigest())


@pytest.fixture
def received() -> Received:
    return Received()


def test_answers_of_all_nodes_end_the_picture(received: Received) -> None:
    for node in ("a", "b"):
        received.answer(node, sample_codec.dump([SAMPLES]))
    assert received.answers.is_over
    assert [node.host for node in received.answers.samples()] == ["a", "b"]
    assert received.answers.silent() == ()


def test_node_of_an_answer_has_our_name_and_keeps_what_has_ended(received: Received) -> None:
    ended = Ending(PROCESS.pid, 3, -9, 1, None)
    received.answer("a", sample_codec.dump([replace(SAMPLES, endings=(ended,))]))
    assert received.answers.samples() == (replace(SAMPLES, host="a", endings=(ended,)),)


def test_round_is_reported_once_all_nodes_have_taken_it(received: Received) -> None:
    received.line("a", "round", "1")
    received.line("a", "round", "2")
    assert received.progress == []
    received.line("b", "round", "2")
    assert received.progress == [2]


def test_node_without_a_sign_is_silent_and_the_other_has_time(received: Received) -> None:
    received.now = COLD_S - 1
    received.line("a", "begun")
    received.now = COLD_S
    assert not received.answers.is_over
    received.now = COLD_S - 1 + WARM_S
    assert received.answers.is_over
    assert {each.reason for each in received.answers.silent()} == {"timeout"}


def test_failed_and_lost_nodes_keep_their_reason_as_plain_text(received: Received) -> None:
    received.line("a", "failed", "OSError: \x1b[31mno space")
    received.answers.lose(["a", "b"], "srun: error: node b is gone")
    assert received.answers.silent() == (
        SilentNode("a", "failed", "OSError:  [31mno space"),
        SilentNode("b", "failed", "srun: error: node b is gone"),
    )


@pytest.mark.parametrize(("node", "mark"), [("a", "0" * 32), ("c", ORDER.mark), ("", ORDER.mark)])
def test_line_of_anything_else_is_dropped(received: Received, node: str, mark: str) -> None:
    received.line(node, "failed", "text", mark)
    received.answers.feed(b"\xff\n")
    received.answers.feed(b"")
    assert all(each.reason == "" for each in received.answers.silent())


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        sample_codec.dump([]),
        sample_codec.dump([SAMPLES, SAMPLES]),
        sample_codec.dump([NodeSamples("a", (), ())]),
    ],
)
def test_answer_that_is_not_of_one_node_is_a_failure(received: Received, value: Any) -> None:
    received.answer("a", value)
    assert received.answers.silent()[0].reason == "failed"


def asked(received: Received) -> bytes:
    """The question to both nodes, which have sampled their process."""
    for node in ("a", "b"):
        received.answer(node, sample_codec.dump([SAMPLES]))
    line = received.answers.ask(Question((("a", 100),), (("b", 100),), (("b", 100),)))
    assert not received.answers.is_over
    return line


def test_nodes_are_asked_for_more_than_stacks(received: Received) -> None:
    assert json.loads(asked(received)) == {
        "a": [[100], [], []],
        "b": [[], [100], [100]],
    }
    received.answer("a", {"inside": [[100, {"exceptions": [], "awaits": [], "record": {}}]]})
    native = {"thread": "MainThread", "frames": [["pause", "libc.so.6"]], "paused_s": 0.2}
    received.answer("b", {"inside": [[101, {}]], "native": [[100, native]]})
    assert received.answers.is_over
    further = received.answers.further()
    reasons = {place: each.reason for place, each in further.readings.items()}
    assert reasons == {("a", 100): "", ("b", 100): "ended"}
    frames = (NativeFrame("pause", "libc.so.6"),)
    assert further.natives == {("b", 100): NativeReading("", "MainThread", frames, 0.2)}


def test_node_that_gives_no_answers_keeps_its_samples(received: Received) -> None:
    asked(received)
    received.line("a", "failed", "MemoryError: ")
    received.now += READ_S
    assert received.answers.is_over
    further = received.answers.further()
    answers = [*further.readings.values(), *further.natives.values()]
    assert [each.reason for each in answers] == ["no-answer"] * 3
    assert len(received.answers.samples()) == 2 and received.answers.silent() == ()


@pytest.mark.parametrize("rows", ["text", {}, [1], [["100", {}]], [[100]], [[100, "text"]]])
def test_answers_that_are_none_are_not_believed(received: Received, rows: Any) -> None:
    asked(received)
    received.answer("a", {"inside": rows})
    received.answer("b", {"native": rows})
    assert received.answers.further().natives["b", 100].reason == "no-answer"
    assert received.answers.further().readings["a", 100].reason in ("ended", "no-answer")


def test_nothing_is_sent_when_no_process_is_asked(received: Received) -> None:
    assert received.answers.ask(Question(())) == b""


async def test_hosts_share_a_question_made_once_all_are_sampled() -> None:
    made: list[bytes] = []
    question = SharedQuestion(2, lambda: made.append(b"{}") or b"line")
    question.arrive()
    assert made == []
    question.arrive()
    assert [await question.get(), await question.get(), len(made)] == [b"line", b"line", 1]


def test_damaged_and_oversized_answers_are_failures(
    received: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    received.answer("a", sample_codec.dump([SAMPLES]), "0" * 64)
    monkeypatch.setattr("eagleray.observe.hangs.collecting.node_streams.LARGEST_NODE", 10_000)
    received.answer("b", " " * 1_000_000)
    details = [each.detail for each in received.answers.silent()]
    assert details == ["the answer arrived damaged", "too large"]
