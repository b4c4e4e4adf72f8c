"""Answers from inside add to the verdict on each recorded hang, and which processes are asked."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve
from eagleray.observe.hangs import picture_files, texts
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import HangEvidence
from eagleray.observe.hangs.inside_questions import (
    MOST_IN_ALL,
    MOST_PROCESSES,
    chosen,
    place_of,
    with_readings,
)
from eagleray.observe.hangs.model import SilentNode
from eagleray.observe.hangs.picture import picture
from eagleray.remote.inspecting.process_answers import ProcessReading, reading_of

from tests.observe.hangs.ranks import FROM_INSIDE
from tests.observe.hangs.record import PLACE, RECORDED, REPOSITORY
from tests.observe.hangs.test_rules import recorded


def answers(scenario: str) -> dict[int, Any]:
    """The raw answers of the ranks of a recorded hang."""
    text = (RECORDED / "inside" / f"{scenario}.json").read_text().replace(PLACE, REPOSITORY)
    return {int(rank): answer for rank, answer in json.loads(text).items()}


def read(evidence: HangEvidence, readings: Mapping[int, ProcessReading]) -> HangEvidence:
    """The evidence with the readings of its ranks."""
    return with_readings(
        evidence,
        {
            place_of(each): readings[each.rank]
            for each in evidence.processes
            if each.rank in readings
        },
    )


def read_inside(scenario: str) -> HangEvidence:
    readings = {rank: reading_of(answer) for rank, answer in answers(scenario).items()}
    return read(recorded(scenario), readings)


@pytest.mark.parametrize("scenario", FROM_INSIDE)
def test_recorded_hang_is_named_with_what_its_ranks_answer(scenario: str) -> None:
    reading = diagnosis(read_inside(scenario)).reading
    expected = FROM_INSIDE[scenario]
    assert expected.words in reading.sentence
    assert (reading.kind.value, str(reading.culprits)) == (expected.kind, expected.culprits)


def test_picture_of_some_workers_stays_one_of_these_with_answers() -> None:
    some = evolve(recorded("generations"), workers="Trainer")
    assert read(some, {}).workers == "Trainer"


def test_picture_has_the_counters_exceptions_and_tasks() -> None:
    sampled = read_inside("generations")
    taken = picture(sampled, diagnosis(sampled), 1.0)
    rows = {each.rank: each for each in taken.ranks}
    counters = {
        rank: (row.collectives[0].started, row.collectives[0].ended) for rank, row in rows.items()
    }
    assert counters == {0: (4, 3), 1: (3, 3), 2: (4, 3), 3: (4, 3)}
    assert rows[0].collectives[0].call == "all_reduce"
    (loop,) = [each for each in taken.inside if each.awaits]
    assert (loop.rank, loop.awaits[0].count) == (1, 9)
    printed = "\n".join(texts.lines(taken))
    assert "Rank 1: 9 tasks wait (" in printed and "Trainer.generate (trainer.py:" in printed
    assert picture_files.as_json(taken)["inside"]
    assert picture_files.structured(picture_files.as_json(taken)) == taken


def test_secret_in_an_exception_is_hidden() -> None:
    raw = answers("cleanup")
    for held in raw[0]["exceptions"]:
        held["causes"][-1]["text"] = "HTTPError('401: api_key=abcdef0123456789')"
    sampled = read(recorded("cleanup"), {0: reading_of(raw[0])})
    taken = picture(sampled, diagnosis(sampled), 1.0)
    assert "abcdef0123456789" not in json.dumps(picture_files.as_json(taken))
    assert "HTTPError" in taken.verdict.sentence


def test_secrets_of_nodes_and_names_of_tasks_threads_and_programs_are_hidden() -> None:
    secret = "API_TOKEN=abcdef0123456789"
    raw = answers("generations")
    for chain in raw[1]["awaits"]:
        chain["names"] = [secret]
        chain["waits_for"] = secret
    sampled = read(recorded("generations"), {1: reading_of(raw[1])})
    changed = tuple(
        evolve(
            each,
            host=secret,
            process=each.process._replace(group=f"{secret} {each.process.group}"),
            stacks=tuple(stack and stack._replace(thread=secret) for stack in each.stacks),
        )
        for each in sampled.processes
    )
    taken = picture(
        evolve(sampled, processes=changed, workers=secret),
        diagnosis(sampled),
        1.0,
        [SilentNode(secret, "failed", f"ssh: {secret}")],
    )
    text = json.dumps(picture_files.as_json(taken), ensure_ascii=False)
    assert "abcdef" not in text and text.count("API_TOKEN=…") > 8


def test_all_ranks_that_have_started_the_same_collective_wait_for_the_transport() -> None:
    sampled = recorded("group_in_variable")
    answer = answers("group_in_variable")[0]
    verdict = diagnosis(read(sampled, {rank: reading_of(answer) for rank in range(4)})).reading
    assert (verdict.kind.value, str(verdict.culprits)) == ("transport", "")
    assert verdict.confidence == 0.9


def test_counters_of_some_ranks_do_not_prove_the_transport() -> None:
    sampled = recorded("group_in_variable")
    answer = reading_of(answers("group_in_variable")[0])
    assert diagnosis(read(sampled, {0: answer, 1: answer})).reading.kind.value == "unknown"


def test_process_that_holds_the_gil_is_not_asked() -> None:
    sampled = recorded("gil")
    assert 1 not in {each.rank for each in chosen(sampled, diagnosis(sampled))}


@pytest.mark.parametrize("scenario", ["slow", "paused"])
def test_nothing_is_asked_when_answers_would_add_nothing(scenario: str) -> None:
    sampled = recorded(scenario)
    assert chosen(sampled, diagnosis(sampled)) == []


def test_culprits_are_asked_first_and_never_more_than_allowed() -> None:
    sampled = recorded("straggler")
    many = HangEvidence(sampled.processes * 20)
    asked = chosen(sampled, diagnosis(sampled))
    assert asked[0].rank == 2 and len(asked) == 4
    assert len(chosen(many, diagnosis(sampled))) <= MOST_PROCESSES


def ranks_of(hosts: int) -> HangEvidence:
    """Ranks that all wait in the same call, eight on each host."""
    first = recorded("group_in_variable").processes[0]
    size = 8 * hosts
    return HangEvidence(
        tuple(
            evolve(
                first,
                process=first.process._replace(pid=1000 + rank, number=rank, world_size=size),
                host=f"node-{rank // 8}",
            )
            for rank in range(size)
        ),
        workers="Trainer",
    )


def test_ranks_of_many_hosts_prove_the_transport_together() -> None:
    sampled = ranks_of(hosts=8)
    asked = chosen(sampled, diagnosis(sampled))
    answer = reading_of(answers("group_in_variable")[0])
    answered = with_readings(sampled, {place_of(each): answer for each in asked})
    verdict = diagnosis(answered).reading
    assert (len(asked), verdict.kind.value, verdict.confidence) == (64, "transport", 0.9)
    assert len(chosen(ranks_of(hosts=100), diagnosis(sampled))) == MOST_IN_ALL


def test_ranks_that_are_not_read_share_a_line_for_each_reason() -> None:
    sampled = ranks_of(hosts=1)
    reasons = ["", "permission", "permission", "busy", "", "", "", "permission"]
    readings = map(ProcessReading, reasons)
    read_all = with_readings(
        sampled, dict(zip(map(place_of, sampled.processes), readings, strict=True))
    )
    printed = list(texts.inside_lines(picture(read_all, diagnosis(read_all), 1.0)))
    assert printed == [
        "Not read inside: Ranks 1-2 and 7 (ptrace is not allowed)",
        "Not read inside: Rank 3 (all threads run native code)",
    ]


def test_rank_that_could_not_be_asked_is_listed_beside_the_others() -> None:
    sampled = recorded("gil")
    asked = chosen(sampled, diagnosis(sampled))
    read_all = with_readings(sampled, {place_of(each): ProcessReading() for each in asked})
    taken = picture(read_all, diagnosis(read_all), 1.0)
    assert {each.rank: each.reason for each in taken.inside}[1] == "gil-held"
