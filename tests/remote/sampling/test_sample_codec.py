"""Samples as JSON: nothing is lost on the way, what is equal is there once, and nothing else is taken for samples."""

import json
import random
from typing import Any

import pytest
from eagleray.remote.sampling import sample_codec
from eagleray.remote.sampling.exits import Ending
from eagleray.remote.sampling.flight_record_client import LONGEST_RECORD
from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.gpus import GpuUse
from eagleray.remote.sampling.merging import Member, ThreadStack, merged
from eagleray.remote.sampling.node_sampler import NodeSamples, ProcessSample, Round
from eagleray.remote.sampling.printed_exceptions import PrintedException
from eagleray.remote.sampling.proc import ThreadUse
from eagleray.remote.sampling.processes import RANK, Described
from eagleray.remote.sampling.wait_records import KINDS as WAIT_KINDS
from eagleray.remote.sampling.wait_records import KernelWait
from hypothesis import given
from hypothesis import strategies as st

texts = st.text(max_size=20)
frames = st.builds(PythonFrame, texts, texts, st.integers(0, 10_000))
stacks = st.builds(ThreadStack, texts, st.lists(frames, max_size=6).map(tuple))
uses = st.builds(ThreadUse, st.integers(0, 2**50), st.integers(0, 2**50))
printed = st.none() | st.builds(PrintedException, texts, st.none() | frames)
samples = st.builds(
    ProcessSample,
    state=texts,
    waits_in=texts,
    cpu_s=st.integers(0, 10**6).map(lambda hundredths: hundredths / 100),
    reason=texts,
    how=texts,
    resumed=st.booleans(),
    io_bytes=st.integers(0, 2**50),
    after=uses,
    gil_holder=texts,
    gil_holder_active=st.booleans(),
    peers=st.lists(st.tuples(texts, st.integers(0, 99)), max_size=2).map(tuple),
    exceptions=st.lists(texts, max_size=2).map(tuple),
    gpus=st.lists(
        st.builds(GpuUse, st.integers(0, 15), st.integers(-1, 100), st.integers(-1, 2**20)),
        max_size=2,
    ).map(tuple),
    before=uses,
    printed=printed,
    record=texts,
    variables_changed=st.booleans(),
    waits=st.lists(
        st.builds(
            KernelWait,
            texts,
            st.sampled_from(WAIT_KINDS),
            st.lists(st.integers(1, 2**22), max_size=3).map(tuple),
            texts,
            st.booleans(),
            texts,
        ),
        max_size=2,
    ).map(tuple),
    has_timer=st.booleans(),
)


@st.composite
def nodes(draw: st.DrawFn) -> NodeSamples:
    groups = draw(st.lists(st.tuples(texts, st.integers(0, 50)), max_size=5, unique=True))
    found = tuple(
        Described(pid, 1, RANK, group, number, draw(texts), 4, draw(texts), draw(st.booleans()))
        for pid, (group, number) in enumerate(groups, 2)
    )
    members = [Member(*each) for each in groups]

    def table() -> Any:
        return tuple(merged((member, draw(stacks)) for member in members))

    rounds = tuple(
        Round(tuple(draw(samples) for _ in found), table(), table())
        for _ in range(draw(st.integers(0, 3)))
    )
    interval_s = draw(st.integers(0, 10_000)) / 1000
    numbers = st.integers(0, 99)
    endings = st.builds(
        Ending,
        st.sampled_from([each.pid for each in found] or [0]),
        numbers,
        st.none() | st.integers(-64, 255),
        numbers,
        printed,
    )
    ended = draw(st.lists(endings, max_size=2)) if found else ()
    return NodeSamples(draw(texts), found, rounds, interval_s, tuple(ended))


@given(st.lists(nodes(), max_size=3))
def test_samples_survive_the_way(taken: list[NodeSamples]) -> None:
    assert sample_codec.load(json.loads(json.dumps(sample_codec.dump(taken)))) == taken


def node(host: str, ranks: range, function: str = "all_reduce") -> NodeSamples:
    stack = ThreadStack(
        "MainThread", tuple(PythonFrame(f"f{depth}", "train.py", depth) for depth in range(40))
    )
    leaf = stack._replace(frames=(*stack.frames, PythonFrame(function, "train.py", 7)))
    found = tuple(Described(rank + 1, 1, RANK, "world", rank, "train.py") for rank in ranks)
    each = ProcessSample("S", "futex", 1.0, "", "py-spy blocking", False)
    table = tuple(merged((Member("world", rank), leaf) for rank in ranks))
    return NodeSamples(host, found, (Round(tuple(each for _ in ranks), table, ()),) * 3)


def test_stacks_of_more_ranks_take_no_more_room() -> None:
    def stacks_text(count: int) -> str:
        value = sample_codec.dump(
            [node(f"n{at}", range(at * 8, at * 8 + 8)) for at in range(count)]
        )
        return json.dumps([value["frames"], value["stacks"]])

    assert len(stacks_text(100)) == len(stacks_text(1))


def test_answer_of_a_thousand_ranks_is_small() -> None:
    value = sample_codec.dump([node(f"n{at}", range(at * 8, at * 8 + 8)) for at in range(125)])
    # 1,000 ranks in three rounds; their stacks alone would be 5 MB.
    assert len(json.dumps(value, separators=(",", ":"))) < 250_000


def test_bytes_that_are_not_text_travel_replaced() -> None:
    taken = node("n", range(2), "caf\udce9")
    [loaded] = sample_codec.load(json.loads(json.dumps(sample_codec.dump([taken]))))
    assert loaded.rounds[0].leading[0].stack.frames[-1].function == "caf?"


@pytest.mark.parametrize("ranks", ["0-999999999", "7", "x", "1-0", "", "9" * 5000])
def test_stack_of_ranks_that_the_node_does_not_have_is_rejected(ranks: str) -> None:
    value = json.loads(json.dumps(sample_codec.dump([node("n", range(2))])))
    value["nodes"][0][2][0][1][0][1][0][1] = ranks
    if ranks:
        with pytest.raises(ValueError):
            sample_codec.load(value)
    else:
        sample_codec.load(value)


def test_record_that_is_too_long_is_rejected() -> None:
    value = sample_codec.dump([node("n", range(1))])
    sample = value["nodes"][0][2][0][0][0]
    sample += [[], [], "x" * LONGEST_RECORD]
    [loaded] = sample_codec.load(value)
    assert loaded.rounds[0].processes[0].record == sample[-1]
    sample[-1] += "x"
    with pytest.raises(ValueError, match="a very long one"):
        sample_codec.load(value)


@pytest.mark.parametrize("value", [None, [], {}, {"version": 2}, {"version": 1}, "x", 1.5])
def test_other_values_are_rejected(value: Any) -> None:
    with pytest.raises(ValueError):
        sample_codec.load(value)


def _replaced(value: Any, chance: random.Random, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] == 0:
        others = [None, -1, 2**60, 1.5, "x", [], {}, True, [[[]]], float("inf")]
        return chance.choice(others)
    if isinstance(value, list):
        return [_replaced(item, chance, left) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, chance, left) for key, item in value.items()}
    return value


@given(st.integers(1, 400), st.randoms(use_true_random=False))
def test_changed_answer_is_read_or_rejected_with_a_value_error(
    at: int, chance: random.Random
) -> None:
    value = json.loads(json.dumps(sample_codec.dump([node("n", range(2))])))
    changed = _replaced(value, chance, [at])
    try:
        sample_codec.load(changed)
    except ValueError:
        return
