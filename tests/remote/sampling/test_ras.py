"""NCCL's RAS: its answers in each form of NVIDIA/nccl 2.24 to 2.30, what else may listen there, and who is contacted."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from eagleray.remote.sampling import proc, ras, ras_node
from eagleray.remote.sampling.node_sampler import sample
from eagleray.remote.sampling.processes import described
from eagleray.remote.sampling.pyspy_dumps import Tools
from eagleray.remote.sampling.ras_records import Launches

from tests.fakes.fake_ras import communicator, fake_ras, missing, rank, status

ROOT = Path(__file__).parents[3]

# NVIDIA/nccl#1911: the ranks that are ahead are the fewer, and only these are named.
TEXT_2_26 = """\
NCCL version 2.26.2 compiled with CUDA 12.6
CUDA runtime version 12060, driver version 12060

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          4            1          8        8

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         4         8         8   RUNNING  MISMATCH
    1         4         2         1         2         8   RUNNING      OK

Errors
======

Warnings
========

#0-0 (ab54a98ceb1f0ad2) MISMATCH
  Communicator ranks have different AllGather operation counts
  6 ranks have launched up to operation 811
  2 ranks have launched up to operation 812
  Rank 2 -- GPU 2 managed by process 7002 on node 10.0.0.7
  Rank 5 -- GPU 1 (NVML 3) managed by process 7101 on node 10.0.0.8

"""
# 2.24 and 2.25 count all operations together.
TEXT_2_24 = TEXT_2_26.replace("2.26.2", "2.24.3").replace(" AllGather ", " collective ")
# The process has been stopped: "The missing rank" or a line of each rank, by version.
TEXT_INCOMPLETE = """\
NCCL version 2.24.3+cuda12.6
Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2       3-4         8         8   RUNNING  INCOMPLETE

Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 7101 on node 10.0.0.8 managing GPU 1

#0-0 (ab54a98ceb1f0ad2) INCOMPLETE
  Missing communicator data from 1 rank
  {line}

Warnings
========

TIMEOUT
  Encountered 2 communication timeouts while gathering communicator data
"""


def launches(answer: ras.RasAnswer) -> dict[int, dict[str, int]]:
    first = answer.communicators[0]
    return {
        each.rank: dict(zip(first.operations, each.counts, strict=True)) for each in first.ranks
    }


@pytest.mark.parametrize(("text", "name"), [(TEXT_2_26, "AllGather"), (TEXT_2_24, "collective")])
def test_ranks_that_the_text_leaves_out_are_the_rest(text: str, name: str) -> None:
    answer = ras.parse(text.encode())
    assert launches(answer) == {at: {name: 812 if at in (2, 5) else 811} for at in range(8)}
    assert [each.size for each in answer.communicators] == [8, 2, 2, 2, 2]
    first = answer.communicators[0]
    assert [(each.host, each.pid) for each in first.ranks if each.pid] == [
        ("10.0.0.7", 7002),
        ("10.0.0.8", 7101),
    ]


def test_ranks_of_two_groups_that_the_text_leaves_out_are_unknown() -> None:
    text = TEXT_2_26.replace(
        "  2 ranks have launched up to operation 812\n",
        "  2 ranks have not launched any operations\n  1 ranks have launched up to operation 3\n",
    )
    assert set(launches(ras.parse(text.encode()))) == {2, 5}


@pytest.mark.parametrize(
    "line",
    [
        "The missing rank: 5",
        "Rank 5 -- GPU 1 managed by process 7101 on node 10.0.0.8",
        "Rank 5 -- [process information not found]",
    ],
)
def test_text_names_the_missing_rank(line: str) -> None:
    (first,) = ras.parse(TEXT_INCOMPLETE.format(line=line).encode()).communicators
    assert [(each.rank, each.kind) for each in first.absent] == [(5, ras.UNRESPONSIVE)]


def test_json_of_nccl_2_28_9_without_a_comma_is_read() -> None:
    """It has none between `nvml_dev` and `status` of a missing rank (`jsonWriteMissingRank`)."""
    value = status(communicator([rank(0, AllReduce=3)], [missing(1), missing(2, dead=True)]))
    text = value.replace('"nvml_dev": 1,', '"nvml_dev": 1').replace(
        '"nvml_dev": 2,', '"nvml_dev": 2'
    )
    assert text != value
    (first,) = ras.parse(text.encode()).communicators
    assert [(each.rank, each.kind) for each in first.absent] == [
        (1, ras.UNRESPONSIVE),
        (2, ras.DEAD),
    ]


def test_communicator_of_zeros_is_left_out() -> None:
    """NVIDIA/nccl#2346: one that is being initialized may be all zeros."""
    empty = {**communicator([], name="0x0"), "secondary_hash": "0x0:0x0"}
    whole = communicator([rank(0)])
    assert len(ras.parse(status(empty, whole).encode()).communicators) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"{}",
        b'{"communicators": 3, "nccl_version": "2.30.7"}',
        b'{"communicators": [' * 5000,
        b'{"communicators":' + b"[" * 100_000,
        status(communicator([{**rank(0), "rank": -1}])).encode(),
        status(communicator([{**rank(0), "pid": "7"}])).encode(),
        status(communicator([{**rank(0), "rank": 2**70}])).encode(),
    ],
)
def test_anything_else_is_unreadable(content: bytes) -> None:
    with fake_ras(content) as server, pytest.raises(ras.RasError, match=ras.UNREADABLE):
        ras.ask("127.0.0.1", server.port)


def test_names_that_are_not_names_are_not_shown() -> None:
    named = communicator([rank(0, host="<b>\x1b[31m\n")], name="0x" + "f" * 300)
    (first,) = ras.parse(status(named, version="2.30\x07").encode()).communicators
    assert (first.name, first.ranks[0].host) == ("?", "?")


def test_answer_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ras, "LARGEST", 1000)
    with fake_ras(b"x" * 5000) as server, pytest.raises(ras.RasError, match=ras.UNREADABLE):
        ras.ask("127.0.0.1", server.port)


def test_stopped_process_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ras, "HELLO_S", 0.1)
    with fake_ras(is_silent=True) as server, pytest.raises(ras.RasError, match=ras.TIMEOUT):
        ras.ask("127.0.0.1", server.port)


@pytest.mark.parametrize("has_json", [False, True])
def test_version_that_a_status_may_crash_gets_none(has_json: bool) -> None:
    """NVIDIA/nccl#1762: 2.27.3 crashed with 128 GPUs; the fix is in 2.29.2, which has `monitor`."""
    with fake_ras(TEXT_2_26, has_json=has_json, has_monitor=False) as server:
        with pytest.raises(ras.RasError, match=ras.OLD):
            ras.ask("127.0.0.1", server.port)
        assert not any("status" in command for command in server.commands)
        ras.ask("127.0.0.1", server.port, is_old_allowed=True)
        assert server.commands[-1] == ("status" if has_json else "verbose status")


def test_jobs_that_share_a_port_all_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """All processes of a user listen there (SO_REUSEPORT), one of which is stopped."""
    monkeypatch.setattr(ras, "HELLO_S", 0.05)
    jobs = [status(communicator([rank(0)], name=f"0x{job}")) for job in (1, 2, 3)]
    with fake_ras(jobs[0]) as first, fake_ras(jobs[1], port=first.port) as second:
        port = first.port
        with fake_ras(jobs[2], port=port), fake_ras(is_silent=True, port=port):
            until = time.monotonic() + 100
            taken: set[str] = set()

            def is_whole(answer: ras.RasAnswer) -> bool:
                taken.update(each.name for each in answer.communicators)
                return taken == {"1", "2", "3"}

            answers, reasons = ras.ask_all("127.0.0.1", port, 100, until, is_whole)
        assert second.commands
    assert {each.communicators[0].name for each in answers} == {"1", "2", "3"}
    assert set(reasons) <= {ras.TIMEOUT}


def test_questions_end_when_nothing_new_comes() -> None:
    with fake_ras(status(communicator([rank(0)]))) as server:
        answers, _ = ras.ask_all(
            "127.0.0.1", server.port, 2, time.monotonic() + 100, lambda answer: False
        )
        assert len(answers) == 1
        assert server.commands.count("status") == 8


def test_record_counts_what_all_have_launched_as_ended() -> None:
    ranks = [rank(at, AllReduce=9, AllGather=4 - (at == 1)) for at in range(4)]
    answer = ras.parse(status(communicator(ranks)).encode())
    taken = Launches([answer], [answer])
    assert '"last_enqueued_collective":13,"last_completed_collective":12' in taken.record(
        [("10.0.0.7", 5000)]
    )
    assert taken.note([("10.0.0.7", 5000)])["notable"][0]["behind"] == "1"


def test_launches_that_continue_are_not_pending() -> None:
    earlier, later = (
        ras.parse(status(communicator([rank(0, AllReduce=n + 1), rank(1, AllReduce=n)])).encode())
        for n in (7, 8)
    )
    taken = Launches([later], [earlier])
    assert '"last_enqueued_collective":9,"last_completed_collective":9' in taken.record(
        [("10.0.0.7", 5000)]
    )
    assert taken.note([])["state"] == "advance"


# Listens as a rank of NCCL does, in a communicator of two ranks, of which this one is behind.
PROGRAM = """
import os, sys
from tests.fakes.fake_ras import FakeRas, communicator, rank, status
ranks = [rank(0, host="127.0.0.1", pid=1, AllReduce=7), rank(1, host="127.0.0.1", pid=os.getpid(), AllReduce=6)]
server = FakeRas(status(communicator(ranks)), port=int(sys.argv[1]))
print(server.port, flush=True)
sys.stdin.readline()
"""


@contextmanager
def listening_rank(**more: str) -> Iterator[subprocess.Popen[str]]:
    """A process that listens at a port of its own, which its environment has."""
    with fake_ras("") as other:
        port = other.port
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NCCL_RAS_ADDR": f"localhost:{port}"}
    env |= {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "29511"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(port)],
        env=env | more,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{port}\n"
        try:
            yield process
        finally:
            process.kill()


def test_process_that_listens_has_its_launches_without_py_spy() -> None:
    with listening_rank() as process:
        node = sample([process.pid], Tools(), rounds=2, pause_s=0.0)
    (last,) = node.rounds[-1].processes
    assert '"last_enqueued_collective":6' in last.record
    assert '"AllReduce":6' in last.record
    assert '"behind": "1"' in node.rounds[-1].ras
    assert '"joined": "1"' in node.rounds[-1].ras


@pytest.mark.parametrize(
    "more", [{"NCCL_RAS_ENABLE": "0"}, {"NCCL_RAS_ADDR": "localhost:1"}, {"NCCL_RAS_ADDR": "x"}]
)
def test_port_where_no_sampled_process_listens_is_not_contacted(more: dict[str, str]) -> None:
    with listening_rank(**more) as process:
        described_here = described([process.pid], proc.all_processes())
        assert ras_node.addresses_of(described_here) == []
        node = sample([process.pid], Tools(), rounds=1, pause_s=0.0)
    assert node.rounds[-1].ras == ""
    assert [each.record for each in node.rounds[-1].processes] == [""]


def test_child_without_the_socket_is_not_awaited() -> None:
    with listening_rank() as process:
        address = proc.environment(process.pid)["NCCL_RAS_ADDR"]
        env = {**os.environ, "NCCL_RAS_ADDR": address}
        child = subprocess.Popen(["sleep", "1000"], env=env)
        pids = [process.pid, child.pid]
        (listening,) = ras_node.addresses_of(described(pids, proc.all_processes()))
        child.kill()
        child.wait()
    assert listening.pids == (process.pid,)


def test_answer_without_the_communicator_of_before_shows_no_progress() -> None:
    later = ras.parse(status(communicator([rank(0, AllReduce=2), rank(1)])).encode())
    taken = Launches([later], [])
    assert taken.note([])["state"] == ""
    assert '"last_completed_collective":2' in taken.record([("10.0.0.7", 5000)])


def test_stopped_process_keeps_no_picture_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ras, "HELLO_S", 0.05)
    monkeypatch.setattr(ras_node, "LIMIT_S", 0.2)
    monkeypatch.setattr(ras_node, "LAST_S", 0.3)
    with listening_rank() as process:
        process.send_signal(19)
        questions = ras_node.RasQuestions(described([process.pid], proc.all_processes()))
        records, note = questions.result(is_last=True)
    assert records == {}
    assert '"reasons": ["timeout"]' in note
    assert threading.active_count() < 50
