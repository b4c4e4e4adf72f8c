"""Which process of a hang is stopped for its native frames, and which verdicts need none."""

import pytest
from attrs import evolve
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.native_frames import MOST_CLASSES, representatives, with_natives
from eagleray.observe.hangs.verdict import HangVerdict, Kind, Reading
from eagleray.remote.sampling.native import NativeFrame, NativeReading
from eagleray.remote.sampling.pyspy_dumps import BY_SIGNAL
from eagleray.remote.sampling.rank_sets import RankSet

from tests.observe.hangs.ranks import SCENARIOS
from tests.observe.hangs.test_rules import recorded


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_at_most_the_first_culprit_is_read_and_only_where_it_says_more(scenario: str) -> None:
    sampled = recorded(scenario)
    places = representatives(sampled, diagnosis(sampled))
    ranks = [each.rank for each in sampled.processes if (each.host, each.process.pid) in places]
    kind = SCENARIOS[scenario].kind
    culprits = RankSet.parse(SCENARIOS[scenario].culprits)
    says_more = kind in ("gil-held", "straggler", "cleanup-deadlock")
    # Their main threads wait for another thread, as their frames of Python say.
    waits_for_thread = scenario.endswith("_beside_thread")
    assert ranks == (list(culprits)[:1] if says_more and not waits_for_thread else [])


def test_one_rank_stands_for_all_that_wait_for_the_transport() -> None:
    sampled = recorded("mismatch")
    transport = Reading(Kind.TRANSPORT, RankSet(), 0.6, "", "", sampled.worlds[0].name)
    [place] = representatives(sampled, HangVerdict(transport))
    assert place[1] == sampled.worlds[0].ranks[0].process.pid


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        ("mismatch", {1, 0}),
        ("cleanup", {0, 2}),
        ("pipeline", {2, 0}),
        ("straggler", {2, 0}),
        ("initialization", {2, 0, 1}),
    ],
)
def test_one_process_of_each_class_is_read_on_request_culprits_first(
    scenario: str, expected: set[int]
) -> None:
    sampled = recorded(scenario)
    places = representatives(sampled, diagnosis(sampled), of_classes=True)
    ranks = {(each.host, each.process.pid): each.rank for each in sampled.processes}
    assert ranks[places[0]] in RankSet.parse(SCENARIOS[scenario].culprits)
    assert {ranks[place] for place in places} == expected


def test_only_some_of_many_classes_are_read() -> None:
    sampled = recorded("mismatch")
    first = sampled.processes[0]
    stack = first.stack
    assert stack is not None
    processes = tuple(
        evolve(
            first,
            process=first.process._replace(number=number, pid=1000 + number),
            stacks=(stack._replace(thread=f"thread {number}"),),
        )
        for number in range(10)
    )
    many = evolve(sampled, processes=processes)
    assert len(representatives(many, diagnosis(sampled), of_classes=True)) == MOST_CLASSES


@pytest.mark.parametrize("changes", [{"state": "D"}, {"state": "T"}, {"how": BY_SIGNAL}])
def test_process_that_cannot_be_traced_is_left_alone(changes: dict[str, str]) -> None:
    sampled = recorded("gil")
    processes = (
        evolve(each, samples=(*each.samples[:-1], each.last._replace(**changes)))
        for each in sampled.processes
    )
    changed = evolve(sampled, processes=tuple(processes))
    assert representatives(changed, diagnosis(sampled)) == ()


def test_sentence_names_the_native_function_and_its_library() -> None:
    sampled = recorded("gil")
    places = representatives(sampled, diagnosis(sampled))
    reading = NativeReading("", frames=(NativeFrame("parse_json", "libjson.so.25"),))
    read = with_natives(sampled, dict.fromkeys(places, reading))
    assert diagnosis(read).reading.sentence.startswith(
        "Rank 1 holds the GIL in parse_json of libjson.so.25, called in Trainer.parse_answer ("
    )
    unread = with_natives(sampled, dict.fromkeys(places, NativeReading("timeout")))
    assert diagnosis(unread) == diagnosis(sampled)
