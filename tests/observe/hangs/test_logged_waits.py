"""Ranks that a log says have waited too long: counters of PyTorch's watchdog in several versions, and missed processes."""

from __future__ import annotations

import io

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.observe.hangs.model import Picture
from eagleray.observe.hangs.pasted.given_files import GivenFiles
from eagleray.observe.hangs.pasted.pasted import picture_of
from eagleray.observe.hangs.texts import lines

DEFAULT = "[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"


def waited(rank: int, number: int, operation: str = "ALLREDUCE", size: int = 64) -> str:
    return (
        f"[rank{rank}]:[E1121 01:25:07.123 ProcessGroupNCCL.cpp:683] [Rank {rank}] Watchdog caught collective"
        f" operation timeout: WorkNCCL(SeqNum={number}, OpType={operation}, NumelIn={size}, NumelOut={size},"
        " Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
    )


def counters(
    rank: int, number: int, started: int, ended: int, *, group: str = DEFAULT, form: str = "2.6"
) -> str:
    """The line of the version `form` of PyTorch with the counters of a rank that has waited in `number`."""
    text = {
        "2.4": f"Exception (either an error or timeout) detected by watchdog at work: {number}, last enqueued NCCL"
        f" work: {started}, last completed NCCL work: {ended}.",
        "2.5": f"Timeout at NCCL work: {number}, last enqueued NCCL work: {started}, last completed NCCL work: {ended}.",
        "2.6": f" failure detected by watchdog at work sequence id: {number} PG status: last enqueued work: {started},"
        f" last completed work: {ended}",
    }[form]
    place = group.format(rank=rank)
    return f"[rank{rank}]:[E1121 01:25:08.123 ProcessGroupNCCL.cpp:2241] {place} {text}"


def replied(rank: int, started: int, ended: int) -> str:
    """The line of a rank that has not waited itself."""
    return (
        f"[rank{rank}]:[E1121 01:25:09.1 ProcessGroupNCCL.cpp:1858] {DEFAULT.format(rank=rank)} Received a dump signal"
        " due to a collective timeout from  rank 1 and we will try our best to dump the debug info. Last enqueued NCCL"
        f" work: {started}, last completed NCCL work: {ended}.This is most likely caused by incorrect usages of collectives"
    )


def judged(*listed: str) -> Picture:
    return picture_of(GivenFiles(["-"], io.BytesIO("\n".join(listed).encode())))


def said(*listed: str) -> tuple[str, str, str]:
    verdict = judged(*listed).verdict
    return verdict.kind, verdict.culprits, verdict.sentence


@pytest.mark.parametrize(
    ("form", "group"),
    [
        ("2.4", "[PG 0 (default_pg) Rank {rank}]"),
        ("2.5", DEFAULT),
        ("2.6", DEFAULT),
    ],
)
def test_rank_that_replies_without_a_wait_is_late(form: str, group: str) -> None:
    others = [0, 1, 3]
    listed = [
        *(waited(rank, 78) for rank in others),
        *(counters(rank, 78, 79, 77, group=group, form=form) for rank in others),
        replied(2, 77, 77),
    ]
    assert said(*listed) == (
        "straggler",
        "2",
        "Rank 2 has not started collective 78 (all_reduce) of default_pg.",
    )


def test_different_operations_of_one_number_are_a_mismatch() -> None:
    listed = [waited(rank, 8, "BROADCAST" if rank == 2 else "ALLREDUCE") for rank in range(4)]
    kind, culprits, sentence = said(*listed, *(counters(rank, 8, 8, 7) for rank in range(4)))
    assert (kind, culprits) == ("collective-mismatch", "2")
    assert "calls broadcast as collective 8 of default_pg" in sentence


def test_ranks_that_started_further_collectives_meanwhile_are_not_ahead() -> None:
    listed = [waited(rank, 76) for rank in range(3)]
    started = ((0, 77), (1, 76), (2, 77))
    picture = judged(*listed, *(counters(rank, 76, number, 75) for rank, number in started))
    assert picture.verdict.kind == "unknown"
    assert [each.kind for each in picture.verdict.readings] == ["transport"]


def test_rank_without_counters_is_listed_beside_what_the_others_wait_in() -> None:
    listed = [line for rank in (0, 1, 3) for line in (waited(rank, 9), counters(rank, 9, 11, 8))]
    assert said(*listed) == (
        "unknown",
        "",
        "All ranks in the log wait in collective 9 (all_reduce) of default_pg. It has no counters of rank 2.",
    )


def test_lines_that_a_terminal_has_broken_are_read() -> None:
    text = "\n".join([waited(0, 9), counters(0, 9, 11, 8, form="2.4")])
    broken = text.replace(" WorkNCCL", " \nWorkNCCL").replace(" detected by", " detected\nby")
    (row,) = judged(broken).ranks
    assert [(each.started, each.ended, each.call) for each in row.collectives] == [
        (11, 8, "all_reduce")
    ]


def test_one_rank_that_is_ahead_of_most_is_named_without_a_culprit() -> None:
    replies = [replied(rank, 10, 10) for rank in range(1, 8)]
    assert said(waited(0, 11), counters(0, 11, 11, 10), *replies) == (
        "straggler",
        "",
        "Only rank 0 started collective 11 (all_reduce) of default_pg.",
    )


@pytest.mark.parametrize("operation", ["SEND", "COALESCED"])
def test_messages_between_pairs_are_not_compared(operation: str) -> None:
    group = "[PG ID 6 PG GUID 90(PIPELINE) Rank {rank}]"
    listed = [waited(2, 2, operation), counters(2, 2, 2, 1, group=group)]
    kind, _, _ = said(*listed, waited(10, 1, operation), counters(10, 1, 1, 0, group=group))
    assert kind == "unknown"


def test_groups_without_a_common_name_are_not_compared() -> None:
    # torch 2.1 writes neither the group nor the rank of the program.
    prefix = (
        "[E ProcessGroupNCCL.cpp:458] [Rank {rank}] Watchdog caught collective operation timeout: "
    )
    work = "WorkNCCL(SeqNum={number}, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800010 milliseconds"
    picture = judged(
        prefix.format(rank=0) + work.format(number=961),
        prefix.format(rank=7) + work.format(number=640),
    )
    assert picture.verdict.kind == "unknown"
    assert [each.collectives[0].started for each in picture.ranks] == [961, 640]


def test_processes_that_both_claim_a_rank_have_no_counters() -> None:
    engines = [f"(Worker_TP0 pid={pid}) {waited(0, number)}" for pid, number in ((81, 5), (82, 9))]
    trainer = [f"(Trainer pid=70) {waited(0, 3)}", f"(Trainer pid=71) {counters(1, 3, 3, 2)}"]
    assert {each.group for each in judged(*engines, *trainer).ranks} == {"Trainer"}


def test_counters_before_a_restart_are_left_out() -> None:
    first = [waited(0, 90), counters(0, 90, 90, 89), counters(1, 95, 95, 94)]
    second = [waited(0, 4), counters(0, 4, 4, 3), waited(1, 4), counters(1, 4, 4, 3)]
    rows = {each.rank: each.collectives for each in judged(*first, *second).ranks}
    assert [(each.started, each.ended) for row in rows.values() for each in row] == [(4, 3)] * 2


def test_stack_of_a_rank_joins_its_counters_by_pid() -> None:
    dump = 'Process 4711: ray::Trainer.step\nThread 4711 (idle): "MainThread"\n    step (trainer.py:7)\n    <module> (run.py:3)'
    log = [f"(Trainer pid=4711) {waited(1, 3)}", f"(Trainer pid=4711) {counters(1, 3, 3, 2)}"]
    (row,) = judged(*log, dump).ranks
    assert (row.rank, row.pid, row.role, row.collectives[0].started) == (1, 4711, "rank", 3)


def test_stack_of_the_failed_collective_belongs_to_its_rank() -> None:
    head = "[rank3]:[E1121 01:25:07.1 ProcessGroupNCCL.cpp:801] [Rank 3] Stack trace of the failed collective: "
    frames = [
        "#0 all_reduce from /lib/python3.12/dist-packages/torch/distributed/distributed_c10d.py:3174"
    ]
    frames.append("#1 decode from /work/serve/parallel.py:72")
    picture = judged(waited(3, 5), counters(3, 5, 5, 4), head, *frames)
    assert [each.function for each in picture.classes[0].frames] == ["decode", "all_reduce"]


@pytest.mark.parametrize(
    ("text", "kind", "culprits", "part"),
    [
        (
            "RuntimeError: [Rank 0]: Ranks 4, 5 failed to pass monitoredBarrier in 2000 ms",
            "straggler",
            "4-5",
            "Ranks 4-5 didn't reach a monitored barrier",
        ),
        (
            "RuntimeError: Rank 0 successfully reached monitoredBarrier, but received errors while waiting for send/recv"
            " from rank 3. Please check rank 3 logs for faulty rank.",
            "straggler",
            "3",
            "Rank 3 didn't reach",
        ),
        (
            "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 1/3 clients joined.",
            "initialization",
            "",
            "Only 1 of 3 processes",
        ),
        (
            "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key:"
            " store_based_barrier_key:1 (world_size=4, worker_count=3, timeout=0:30:00)",
            "initialization",
            "",
            "Only 3 of 4 processes",
        ),
        (
            "torch.distributed.DistStoreError: Timed out waiting on barrier on rank 0, for key prefix:"
            " torchelastic/agent.startup (world_size=3, missing_ranks=[2], timeout=300)",
            "initialization",
            "",
            "Of 3 nodes these didn't reach a barrier of torchrun: 2.",
        ),
    ],
)
def test_processes_that_messages_name_as_missing(
    text: str, kind: str, culprits: str, part: str
) -> None:
    found_kind, found_culprits, sentence = said(text)
    assert (found_kind, found_culprits) == (kind, culprits)
    assert part in sentence


def test_rank_that_waited_in_gloo_is_not_a_culprit() -> None:
    message = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete"
    picture = judged(f"[rank4]: {message}", f"[rank5]: {message}")
    assert (picture.verdict.kind, picture.verdict.culprits) == ("unknown", "")
    assert next(lines(picture)) == "Ranks 4-5 waited in gloo (recv) until its time limit."


def test_frames_without_a_header_are_a_thread_of_unknown_process() -> None:
    frames = "\n".join(f"    step{n} (train.py:{n})" for n in range(3))
    sources = GivenFiles(["-"], io.BytesIO(f"It hangs here:\n{frames}\n\nAny idea?".encode()))
    picture = picture_of(sources)
    assert [each.function for each in picture.classes[0].frames] == ["step2", "step1", "step0"]
    assert sources.unread == [
        ("threads of -", "the beginning of a dump is missing, so its process isn't known")
    ]


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        (
            '  File "a.py", line 3 in inner\n  File "a.py", line 9 in <module>',
            ["<module>", "inner"],
        ),
        (
            'File "a.py", line 9, in <module>\n    go()\nFile "a.py", line 3, in inner\n    x()',
            ["<module>", "inner"],
        ),
        (
            'Traceback (most recent call last):\n  File "a.py", line 9, in <module>\n    go()\n'
            '  File "a.py", line 3, in inner\n    x()\nKeyboardInterrupt',
            ["<module>", "inner"],
        ),
    ],
)
def test_order_of_frames_without_a_header(text: str, functions: list[str]) -> None:
    assert [each.function for each in judged(text).classes[0].frames] == functions


def test_traceback_of_an_exception_is_not_a_stack_of_a_hang() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 9, in <module>\n    go()\n'
        '  File "a.py", line 3, in inner\n    x()\nValueError: too many'
    )
    with pytest.raises(EaglerayError, match="No stacks"):
        judged(text)


def test_equal_threads_of_a_process_are_counted() -> None:
    worker = 'Thread 0x00007f00000{n:05x} (most recent call first):\n  File "pool.py", line 8 in take\n  File "pool.py", line 2 in run\n'
    main = 'Current thread 0x00007f0000099999 (most recent call first):\n  File "a.py", line 9 in <module>'
    picture = judged("".join(worker.format(n=n) for n in range(37)) + main)
    assert [each.thread for each in picture.threads] == ["×37"]


def test_cancelled_reading_stops_within_a_file() -> None:
    class Stream(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1) -> bytes:
            self.reads += 1
            sources.cancel()
            return super().read(10)

    stream = Stream(b"x" * 1000)
    sources = GivenFiles(["-"], stream)
    with pytest.raises(EaglerayError) as raised:
        picture_of(sources)
    assert (raised.value.code, stream.reads) == ("cancelled", 1)


def test_package_is_named_with_its_folder() -> None:
    dump = (
        'Thread 4711 (idle): "MainThread"\n    acquire (logging/__init__.py:917)\n    go (run.py:3)'
    )
    assert any("acquire (logging/__init__.py:917)" in line for line in lines(judged(dump)))


@pytest.mark.parametrize("part", [">", " ", "<", "[PG ", "at work: 1 ", "Rank 1 ", '" File "'])
def test_long_lines_without_frames_take_no_quadratic_time(part: str) -> None:
    # 2 MB: a quadratic pattern takes hours for it.
    with pytest.raises(EaglerayError, match="No stacks"):
        judged("WorkNCCL( ast enqueued " + part * (2_000_000 // len(part)))


def report(rank: int, *rest: str, number: int = 812, head: str = "Rank {rank}") -> str:
    """Returns the log of a rank with TORCH_NCCL_DESYNC_DEBUG=1; `head` is what stands before it, which differs between
    versions.
    """
    first = f"[rank{rank}]:[E1121 01:25:07.9 ProcessGroupNCCL.cpp:2012] {head.format(rank=rank)}"
    return "\n".join(
        [
            first,
            f"\t - [{rank}] Timeout at collective: ALLREDUCE, #{number}",
            *(f"\t {line}" for line in rest),
        ]
    )


def snapshot(*states: str) -> list[str]:
    return ["- Snapshot of ranks' latest states:", *(f"  {line}" for line in states)]


LATE = snapshot(
    "#811 finished ranks:",
    "  [2] finished ALLREDUCE",
    "#812 started ranks:",
    "  [0, 1, 3] started ALLREDUCE",
)


@pytest.mark.parametrize("prefix", ["", "(Trainer pid=4711, ip=10.0.0.7) "])
def test_rank_that_a_desync_report_shows_behind_is_late(prefix: str) -> None:
    text = "\n".join([waited(1, 812), counters(1, 812, 813, 811), report(1, *LATE)])
    assert said(*(prefix + line for line in text.split("\n"))) == (
        "straggler",
        "2",
        "Rank 2 has not started collective 812 (all_reduce) of default_pg.",
    )


def test_group_in_the_prefix_of_a_desync_report_counts() -> None:
    # torch 2.3 to 2.5.
    text = report(1, *LATE, head="[PG 0 Rank {rank}] ")
    assert said(text)[1:] == (
        "2",
        "Rank 2 has not started collective 812 (all_reduce) of default_pg.",
    )


def test_different_calls_in_a_desync_report_are_a_mismatch() -> None:
    states = snapshot(
        "#4 started ranks:", "  [1] started BROADCAST", "  [0, 2, 3] started ALLREDUCE"
    )
    lines_before = [waited(1, 4, "BROADCAST"), counters(1, 4, 4, 3)]
    kind, culprits, sentence = said(*lines_before, report(1, *states, number=4))
    assert (kind, culprits) == ("collective-mismatch", "1")
    assert "calls broadcast as collective 4 of default_pg" in sentence


def test_ranks_of_a_report_without_a_group_are_not_ranks_of_the_program() -> None:
    # torch 2.1 names neither rank nor group.
    text = report(1, *LATE, head="").replace("[rank1]:[E1121 01:25:07.9", "[E")
    picture = judged(text)
    assert picture.verdict.sentence == (
        "Rank 2 has not started collective 812 (all_reduce) of a process group."
    )
    assert picture.verdict.group == "a process group"


@pytest.mark.parametrize(
    ("before", "sentence", "culprits"),
    [
        (
            [counters(0, 1, 1, 0)],
            "Ranks 2 and 5 never joined a collective, as the log says.",
            "2,5",
        ),
        ([], "Ranks 2 and 5 of a process group never joined a collective, as the log says.", ""),
        (
            [counters(0, 1, 1, 0, group="[PG ID 6 PG GUID 90(TP) Rank {rank}]")],
            "Ranks 2 and 5 of TP 90 never joined a collective, as the log says.",
            "",
        ),
    ],
)
def test_ranks_that_never_joined_are_named(before: list[str], sentence: str, culprits: str) -> None:
    never = "- To our best knowledge, ranks [2, 5] are the lagging ranks that caused this timeout. They never joined any collectives"
    assert said(*before, report(0, never, number=1)) == ("straggler", culprits, sentence)


def test_desync_report_of_many_ranks_is_read_whole() -> None:
    others = ", ".join(str(rank) for rank in range(10_000) if rank != 4711)
    states = snapshot(
        "#8 finished ranks:",
        "  [4711] finished ALLREDUCE",
        "#9 started ranks:",
        f"  [{others}] started ALLREDUCE",
    )
    assert said(counters(1, 9, 9, 8), report(1, *states, number=9))[:2] == ("straggler", "4711")


def without_id(rank: int, error: str, key: str = "0") -> str:
    return (
        f"[rank{rank}]: torch.distributed.DistBackendError: [{rank}] is setting up NCCL communicator and retrieving"
        f" ncclUniqueId from [0] via c10d key-value store by key '{key}', but store->get('{key}') got error: {error}"
    )


@pytest.mark.parametrize(
    ("error", "key", "kind", "culprits", "sentence"),
    [
        (
            "wait timeout after 600000ms, keys: /default_pg/0//cuda//0",
            "0",
            "straggler",
            "0",
            "Ranks 1 and 3 waited for rank 0, which didn't set up a communicator in time.",
        ),
        (
            "Socket Timeout",
            "0",
            "straggler",
            "",
            "Ranks 1 and 3 of a process group waited for rank 0, which didn't set up a communicator in time.",
        ),
        (
            "wait timeout after 600000ms, keys: /default_pg/0//cuda//0:3",
            "0:3",
            "straggler",
            "0",
            "Ranks 1 and 3 waited for rank 0, which didn't set up a communicator in time.",
        ),
        (
            "Connection reset by peer",
            "0",
            "rank-dead",
            "",
            "Ranks 1 and 3 lost the store, which rank 0 or torchrun serves.",
        ),
    ],
)
def test_ranks_that_wait_for_the_id_of_a_communicator(
    error: str, key: str, kind: str, culprits: str, sentence: str
) -> None:
    listed = [without_id(rank, error, key) for rank in (3, 1)]
    assert said(*listed) == (kind, culprits, sentence)
