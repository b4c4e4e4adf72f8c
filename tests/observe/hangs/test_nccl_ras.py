"""Verdicts from NCCL's RAS: alone at an address, given as a file, and beside the stacks of sampled processes."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from eagleray.cli.main import main
from eagleray.observe.hangs.collecting.completed_picture import completed
from eagleray.observe.hangs.counter_readings import counters
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import HangEvidence, evidence
from eagleray.observe.hangs.model import Picture
from eagleray.observe.hangs.pasted.given_files import GivenFiles
from eagleray.observe.hangs.pasted.pasted import picture_of
from eagleray.observe.hangs.ras_evidence import evidence_of_answers
from eagleray.observe.hangs.ras_notes import note_of
from eagleray.observe.hangs.texts import lines
from eagleray.observe.hangs.verdict import Kind
from eagleray.remote.sampling import ras, sample_codec
from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.merging import MergedStack, ThreadStack
from eagleray.remote.sampling.node_sampler import NodeSamples, ProcessSample, Round
from eagleray.remote.sampling.processes import RANK, Described
from eagleray.remote.sampling.rank_sets import RankSet
from eagleray.remote.sampling.ras_records import Launches

from tests.fakes.fake_ras import communicator, fake_ras, missing, rank, status
from tests.remote.sampling.test_ras import TEXT_2_26, TEXT_INCOMPLETE

BEHIND = [rank(at, AllReduce=9, AllGather=4 - (at == 2)) for at in range(4)]
EQUAL = [rank(at, AllReduce=9) for at in range(4)]
SEND = ThreadStack(
    "MainThread",
    (
        PythonFrame("<module>", "/work/train.py", 7),
        PythonFrame("send", "/opt/torch/distributed/distributed_c10d.py", 2400),
    ),
)


def answer(*communicators: object) -> ras.RasAnswer:
    return ras.parse(status(*communicators).encode())  # type: ignore[arg-type]


def alone(*rounds: ras.RasAnswer) -> HangEvidence:
    return evidence_of_answers([[each] for each in rounds], "", pause_s=2.0)


def sampled(
    taken: ras.RasAnswer, pids: Sequence[int], world_size: int, stack: ThreadStack | None = None
) -> HangEvidence:
    """Ranks on 10.0.0.7 that can't be traced, or are in `stack`, with the launches of two equal answers."""
    launches = Launches([taken], [taken])
    places = {pid: [("10.0.0.7", pid)] for pid in pids}
    samples = tuple(
        ProcessSample(
            "S",
            "",
            1.0,
            "" if stack else "permission",
            "",
            False,
            record=launches.record(places[pid]),
        )
        for pid in pids
    )
    processes = tuple(
        Described(pid, 1, RANK, "train.py", pid - 5000, "train.py", world_size, "10.0.0.7:29500")
        for pid in pids
    )
    note = {
        "version": "2.30.7",
        "reasons": [],
        **launches.note({("10.0.0.7", pid) for pid in pids}),
    }
    numbers = RankSet.of(pid - 5000 for pid in pids)
    stacks = (MergedStack(stack, {"train.py": numbers}),) if stack else ()
    rounds = (Round(samples, stacks, ()), Round(samples, stacks, (), json.dumps(note)))
    (node,) = sample_codec.load(
        json.loads(json.dumps(sample_codec.dump([NodeSamples("n1", processes, rounds)])))
    )
    return evidence([node], 2.0, is_whole=True)


def given(*paths: Path) -> Picture:
    return picture_of(GivenFiles([str(path) for path in paths], io.BytesIO()))


def test_rank_with_fewer_launches_is_the_straggler() -> None:
    taken = answer(communicator(BEHIND))
    verdict = diagnosis(alone(taken, taken)).reading
    assert (verdict.kind, str(verdict.culprits)) == (Kind.STRAGGLER, "2")
    assert (
        verdict.sentence
        == "Rank 2 has not started collective 13 (AllGather) of communicator 5ca1ab1e00000001."
    )


def test_equal_launches_are_never_an_all_clear_nor_the_network() -> None:
    """NVIDIA/nccl#1730: 256 GPUs in a collective for half an hour, of which RAS said OK."""
    taken = answer(communicator(EQUAL))
    whole = completed(alone(taken, taken))
    assert whole.verdict.kind == "unknown"
    assert whole.verdict.readings == ()
    text = "\n".join(lines(whole))
    assert "That doesn't exclude a hang. Add the stacks of the ranks." in text
    assert "All ranks that answer have launched the same, which excludes no hang." in text
    for each in (sampled(taken, [5000, 5001, 5002, 5003], 4), sampled(taken, [5000, 5001], 0)):
        assert diagnosis(each).reading.kind is Kind.UNKNOWN


def test_launches_that_continue_are_slow() -> None:
    ranks = [rank(at, AllReduce=9, AllGather=5 - (at == 2)) for at in range(4)]
    taken = alone(answer(communicator(BEHIND)), answer(communicator(ranks)))
    assert diagnosis(taken).reading.kind is Kind.SLOW


def test_answers_without_a_communicator_of_before_prove_no_progress() -> None:
    first = answer(communicator(BEHIND), communicator(EQUAL, name="0x2"))
    verdict = diagnosis(alone(first, answer(communicator(BEHIND)))).reading
    assert (verdict.kind, str(verdict.culprits)) == (Kind.STRAGGLER, "2")


def test_other_operations_are_a_mismatch() -> None:
    ranks = [rank(at, **({"AllGather": 5} if at == 3 else {"AllReduce": 5})) for at in range(4)]
    taken = answer(communicator(ranks))
    verdict = diagnosis(alone(taken, taken)).reading
    assert (verdict.kind, str(verdict.culprits)) == (Kind.COLLECTIVE_MISMATCH, "3")
    assert verdict.sentence == (
        "Rank 3 has launched AllGather 5 in communicator 5ca1ab1e00000001, ranks 0-2 AllReduce 5."
    )


def test_rank_that_does_not_answer_is_named_with_its_process() -> None:
    taken = answer(communicator(EQUAL[:3], [missing(3, pid=812, dead=True)]))
    verdict = diagnosis(alone(taken, taken)).reading
    assert (verdict.kind, str(verdict.culprits)) == (Kind.STRAGGLER, "3")
    assert verdict.sentence == (
        "Rank 3 of communicator 5ca1ab1e00000001 doesn't answer NCCL (process 812 on 10.0.0.8). "
        "For over 60 seconds: rank 3."
    )


def test_rank_that_has_left_is_not_a_culprit() -> None:
    """A communicator that is being destroyed has ranks that say nothing of it though they answer."""
    taken = answer(communicator(EQUAL[:3], [missing(3, left=True)]))
    assert diagnosis(alone(taken, taken)).reading.kind is Kind.UNKNOWN


def test_process_with_several_gpus_has_a_record_of_each() -> None:
    ranks = [rank(at, pid=5000, AllReduce=9 - (at == 1)) for at in range(4)]
    taken = answer(communicator(ranks))
    verdict = diagnosis(alone(taken, taken)).reading
    assert (verdict.kind, str(verdict.culprits)) == (Kind.STRAGGLER, "1")


def test_ranks_that_can_not_be_traced_are_judged_by_launches() -> None:
    taken = sampled(answer(communicator(BEHIND)), [5000, 5001, 5002, 5003], 4)
    verdict = diagnosis(taken).reading
    assert (verdict.kind, str(verdict.culprits)) == (Kind.STRAGGLER, "2")
    assert verdict.sentence.startswith("Rank 2 has not started collective 13 (AllGather)")
    # That their stacks are missing is still said.
    assert [each.reason for each in completed(taken).coverage.unseen] == ["permission"] * 4


def test_wait_that_no_stack_shows_is_judged_by_launches() -> None:
    """A compiled program waits in code of its own (marin-community/marin#7344)."""
    stack = ThreadStack("MainThread", (PythonFrame("step", "/work/train.py", 9),))
    taken = sampled(answer(communicator(BEHIND)), [5000, 5001, 5002, 5003], 4, stack)
    verdict = diagnosis(taken).reading
    assert (verdict.kind, str(verdict.culprits)) == (Kind.STRAGGLER, "2")


def test_launches_alone_never_blame_the_network() -> None:
    taken = sampled(answer(communicator(BEHIND)), [5000, 5001, 5003], 0)
    assert not [each for each in counters(taken.worlds[0]) if each.kind is Kind.TRANSPORT]


def test_rank_behind_that_was_not_sampled_is_named() -> None:
    ranks = [*BEHIND[:2], rank(2, host="10.0.0.8", pid=77, AllReduce=9, AllGather=3), BEHIND[3]]
    verdict = diagnosis(sampled(answer(communicator(ranks)), [5000, 5001, 5003], 4)).reading
    assert (verdict.kind, str(verdict.culprits)) == (Kind.WAIT_CHAIN, "2")
    assert verdict.sentence == (
        "Rank 2 of communicator 5ca1ab1e00000001 has launched fewer collectives (AllGather) than "
        "others (process 77 on 10.0.0.8)."
    )


def test_rank_behind_alone_is_compared_with_those_that_were_not_sampled() -> None:
    verdict = diagnosis(sampled(answer(communicator(BEHIND)), [5002], 4)).reading
    assert (verdict.kind, str(verdict.culprits)) == (Kind.STRAGGLER, "2")
    assert verdict.sentence.endswith(
        "fewer collectives (AllGather) than others (process 5002 on 10.0.0.7)."
    )


def test_communicators_of_a_text_are_all_counted(tmp_path: Path) -> None:
    (tmp_path / "ras.txt").write_text(TEXT_2_26)
    assert given(tmp_path).ras[0].communicators == 5


def test_send_and_recv_are_said_to_be_uncounted() -> None:
    taken = sampled(answer(communicator(EQUAL)), [5000, 5001, 5002, 5003], 4, SEND)
    assert "NCCL RAS doesn't count send and recv." in "\n".join(lines(completed(taken)))


def test_note_of_a_node_is_not_trusted() -> None:
    good = {"version": "2.30", "reasons": [], "communicators": 1, "ranks": 4, "state": "equal"}
    row = {"name": "a", "size": 2, "call": "", "joined": "0", "behind": "", "absent": "1"}
    row |= {"dead": "", "places": ["1: 812@10.0.0.7"]}
    assert note_of("n1", json.dumps({**good, "notable": [row]})).notable[0].absent == "1"
    for bad in (
        "",
        "[]",
        "{}",
        "[" * 10_000,
        json.dumps({**good, "notable": [3]}),
        json.dumps({**good, "ranks": "many", "notable": []}),
        json.dumps({**good, "notable": [{**row, "joined": "x"}]}),
        json.dumps({**good, "notable": [{**row, "places": ["<b>"]}]}),
    ):
        assert note_of("n1", bad).reasons == (ras.UNREADABLE,)


def test_address_alone_is_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_ras(status(communicator(BEHIND))) as server:
        arguments = ["stacks", "--ras", server.address, "--seconds", "0.1", "--json"]
        assert main([*arguments, "--exit-code"]) == 3
        taken = json.loads(capsys.readouterr().out)
        # One process listens, so that each round has one answer.
        assert server.commands.count("status") == 2
    assert (taken["verdict"]["kind"], taken["verdict"]["culprits"]) == ("straggler", "2")
    assert taken["target"] == f"NCCL at {server.address}"
    (row,) = taken["ras"]
    assert (row["version"], row["communicators"], row["ranks"], row["state"]) == (
        "2.30.7",
        1,
        4,
        "behind",
    )
    assert row["notable"][0]["behind"] == "2"
    assert row["notable"][0]["places"] == ["2: 5002@10.0.0.7"]


def test_old_version_that_is_named_answers_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_ras(TEXT_2_26, has_json=False, has_monitor=False) as server:
        assert main(["stacks", "--ras", server.address, "--seconds", "0.1"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "Ranks 0-1, 3-4, and 6-7 have not started collective 812 (AllGather) "
        "of communicator ab54a98ceb1f0ad2.\n"
    )


@pytest.mark.parametrize("address", ["localhost", "x:0", "x:70000", ":28028", "x:y"])
def test_address_that_is_none_is_refused(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stacks", "--ras", address]) == 1
    assert "is not an address" in capsys.readouterr().err


def test_address_without_nccl_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_ras(b"HTTP/1.1 400\r\n\r\n") as server:
        address = server.address
        assert main(["stacks", "--ras", address]) == 1
    assert f"What listens at {address} is not NCCL." in capsys.readouterr().err
    assert main(["stacks", "--ras", address]) == 1
    assert f"No NCCL listens at {address}." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "kind", "culprits"),
    [
        (status(communicator(BEHIND)), "wait-chain", "2"),
        (TEXT_2_26, "wait-chain", "0-1,3-4,6-7"),
        (TEXT_INCOMPLETE.format(line="The missing rank: 5"), "wait-chain", ""),
        (status(communicator(EQUAL)), "unknown", ""),
    ],
)
def test_saved_status_is_read(content: str, kind: str, culprits: str, tmp_path: Path) -> None:
    path = tmp_path / "ras.txt"
    path.write_text(content)
    taken = given(path)
    assert (taken.verdict.kind, taken.verdict.culprits) == (kind, culprits)
    assert taken.verdict.confidence <= 0.5
    assert "NCCL RAS" in "\n".join(lines(taken))


def test_saved_status_beside_dumps_names_the_process_behind(tmp_path: Path) -> None:
    (tmp_path / "ras.json").write_text(status(communicator(BEHIND)))
    dump = (
        'Process {pid}: python train.py\nThread {pid} (idle): "MainThread"\n    step (train.py:9)\n'
    )
    (tmp_path / "dumps.txt").write_text("".join(dump.format(pid=pid) for pid in range(5000, 5004)))
    taken = given(tmp_path)
    assert taken.coverage.processes == 4
    assert "Rank 2 of communicator 5ca1ab1e00000001 has launched fewer" in taken.verdict.sentence
    assert "(process 5002 on 10.0.0.7)" in taken.verdict.sentence
    assert taken.verdict.culprits == ""
