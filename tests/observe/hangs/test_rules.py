"""The verdict on each recorded hang, and on variations of them that can't be recorded."""

import json

import pytest
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import HangEvidence, evidence
from eagleray.remote.sampling import sample_codec

from tests.observe.hangs.ranks import JOINING, SCENARIOS
from tests.observe.hangs.record import PAUSE_S, PLACE, RECORDED, REPOSITORY


def recorded(scenario: str) -> HangEvidence:
    text = (RECORDED / f"{scenario}.json").read_text().replace(PLACE, REPOSITORY)
    return evidence(sample_codec.load(json.loads(text)), PAUSE_S, is_whole=False)


@pytest.mark.parametrize("scenario", [*SCENARIOS, *JOINING])
def test_recorded_hang_is_named_with_its_culprits(scenario: str) -> None:
    reading = diagnosis(recorded(scenario)).reading
    expected = {**SCENARIOS, **JOINING}[scenario]
    assert (reading.kind.value, str(reading.culprits)) == (expected.kind, expected.culprits)
    assert expected.words in reading.sentence


def test_sentence_names_the_branch_at_which_ranks_differ() -> None:
    sentence = diagnosis(recorded("mismatch")).reading.sentence
    assert "the branch at line" in sentence and "differs between ranks" in sentence


def test_native_code_that_waits_with_the_gil_is_told_from_code_that_computes_with_it() -> None:
    waits, computes = (diagnosis(recorded(each)).reading for each in ("gil_asleep", "gil"))
    assert "Rank 1 never releases the GIL" in waits.sentence
    assert "native code waits there." in waits.sentence
    assert "Rank 1 holds the GIL in each sample" in computes.sentence
    assert waits.confidence > computes.confidence
