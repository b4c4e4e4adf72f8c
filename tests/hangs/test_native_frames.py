"""Which process of a hang is stopped for its native frames, and which verdicts need none."""

import pytest
from attrs import evolve
from eagleray.features.hangs.diagnosis import diagnosis
from eagleray.features.hangs.native_frames import representative, with_natives
from eagleray.features.hangs.verdict import HangVerdict, Kind, Reading
from eagleray.sampling.dumps import BY_SIGNAL
from eagleray.sampling.native import NativeFrame, NativeReading
from eagleray.sampling.rank_sets import RankSet

from tests.hangs.ranks import SCENARIOS
from tests.hangs.test_rules import recorded


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_at_most_the_first_culprit_is_read_and_only_where_it_says_more(scenario: str) -> None:
    sampled = recorded(scenario)
    places = representative(sampled, diagnosis(sampled))
    ranks = [each.rank for each in sampled.processes if (each.host, each.process.pid) in places]
    kind = SCENARIOS[scenario].kind
    culprits = RankSet.parse(SCENARIOS[scenario].culprits)
    assert ranks == (list(culprits)[:1] if kind in ("gil-held", "straggler") else [])


def test_one_rank_stands_for_all_that_wait_for_the_transport() -> None:
    sampled = recorded("mismatch")
    transport = Reading(Kind.TRANSPORT, RankSet(), 0.6, "", "", sampled.worlds[0].name)
    [place] = representative(sampled, HangVerdict(transport))
    assert place[1] == sampled.worlds[0].ranks[0].process.pid


@pytest.mark.parametrize("changes", [{"state": "D"}, {"state": "T"}, {"how": BY_SIGNAL}])
def test_process_that_cannot_be_traced_is_left_alone(changes: dict[str, str]) -> None:
    sampled = recorded("gil")
    processes = (
        evolve(each, samples=(*each.samples[:-1], each.last._replace(**changes)))
        for each in sampled.processes
    )
    changed = evolve(sampled, processes=tuple(processes))
    assert representative(changed, diagnosis(sampled)) == ()


def test_sentence_names_the_native_function_and_its_library() -> None:
    sampled = recorded("gil")
    places = representative(sampled, diagnosis(sampled))
    reading = NativeReading("", frames=(NativeFrame("parse_json", "libjson.so.25"),))
    read = with_natives(sampled, dict.fromkeys(places, reading))
    assert diagnosis(read).reading.sentence.startswith(
        "Rank 1 holds the GIL in parse_json of libjson.so.25, called in Trainer.parse_answer ("
    )
    unread = with_natives(sampled, dict.fromkeys(places, NativeReading("timeout")))
    assert diagnosis(unread) == diagnosis(sampled)
