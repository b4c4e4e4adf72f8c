"""The verdict on each recorded hang, and on variations of them that can't be recorded."""

import json

import pytest
from eagleray.features.hangs.diagnosis import diagnosis
from eagleray.features.hangs.evidence import HangEvidence, evidence
from eagleray.sampling import wire

from tests.hangs.ranks import JOINING, SCENARIOS
from tests.hangs.record import PAUSE_S, PLACE, RECORDED, REPOSITORY


def recorded(scenario: str) -> HangEvidence:
    text = (RECORDED / f"{scenario}.json").read_text().replace(PLACE, REPOSITORY)
    return evidence(wire.load(json.loads(text)), PAUSE_S, is_whole=False)


@pytest.mark.parametrize("scenario", [*SCENARIOS, *JOINING])
def test_recorded_hang_is_named_with_its_culprits(scenario: str) -> None:
    reading = diagnosis(recorded(scenario)).reading
    expected = {**SCENARIOS, **JOINING}[scenario]
    assert (reading.kind.value, str(reading.culprits)) == (expected.kind, expected.culprits)
    assert expected.words in reading.sentence


def test_sentence_names_the_branch_at_which_ranks_differ() -> None:
    sentence = diagnosis(recorded("mismatch")).reading.sentence
    assert "the branch at line" in sentence and "differs between ranks" in sentence
