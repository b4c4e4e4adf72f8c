"""Verdicts about stacks that others have dumped."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.observe.hangs.texts import lines

from tests.observe.hangs.given_dumps import (
    BARRIER,
    GIVEN,
    SAVE,
    dumps_in,
    given,
    process,
)


def test_one_dump_says_no_more_than_it_can() -> None:
    taken = given(*sorted(GIVEN.glob("straggler.*")))
    verdict = taken.verdict
    assert (verdict.kind, verdict.culprits, verdict.confidence) == ("wait-chain", "2", 0.5)
    assert "does not move" not in verdict.sentence and "one dump" in verdict.sentence
    assert taken.coverage.samples == 0


def test_second_dump_shows_what_does_not_move(tmp_path: Path) -> None:
    for file in GIVEN.glob("straggler.*"):
        (tmp_path / f"{file.stem}.txt").write_text(file.read_text() * 2)
    verdict = given(tmp_path).verdict
    assert (verdict.kind, verdict.culprits, verdict.confidence) == ("straggler", "2", 0.8)
    assert "does not move in Trainer.load_checkpoint (trainer.py:72)" in verdict.sentence


def test_rank_that_waits_for_a_server_may_still_get_its_answer(tmp_path: Path) -> None:
    for file in GIVEN.glob("straggler.*"):
        request = "readinto (socket.py:706)\n    begin (http/client.py:318)"
        waits = "Condition.wait (threading.py:327)\n    Event.wait (threading.py:629)"
        (tmp_path / f"{file.stem}.txt").write_text(file.read_text().replace(waits, request) * 2)
    verdict = given(tmp_path).verdict
    assert (verdict.kind, verdict.culprits, verdict.confidence) == ("wait-chain", "2", 0.5)
    assert "for rank 2, which waits in Trainer.load_checkpoint (trainer.py:72)" in verdict.sentence
    assert "an answer over the network" in verdict.sentence


def test_ranks_in_different_collectives_are_named() -> None:
    verdict = given(*GIVEN.glob("mismatch.*")).verdict
    assert (verdict.kind, verdict.culprits) == ("collective-mismatch", "1,3")


@pytest.mark.parametrize(
    ("titles", "numbers"),
    [
        (["scheduler_PP0_TP0", "scheduler_PP0_TP1", "scheduler_PP1_TP0"], [0, 1, 2]),
        (["scheduler_PP1", "scheduler_PP2"], [1, 2]),
        (["scheduler_TP0_EP0", "scheduler_TP1_EP1"], [0, 1]),
    ],
)
def test_stages_of_an_engine_are_numbered_as_one_world(
    titles: list[str], numbers: list[int]
) -> None:
    text = "".join(process(800 + at, f"sglang::{each}", *BARRIER) for at, each in enumerate(titles))
    taken = given("-", stdin=text.encode())
    assert [(row.group, row.rank) for row in taken.ranks if row.pid] == [
        ("sglang::scheduler", number) for number in numbers
    ]


def test_stages_of_an_engine_may_be_in_different_collectives() -> None:
    gather = ("all_gather (torch/distributed/distributed_c10d.py:7)", *BARRIER[1:])
    dumps = [
        process(800 + 2 * stage + rank, f"sglang::scheduler_PP{stage}_TP{rank}", *frames)
        for stage, frames in enumerate((BARRIER, gather))
        for rank in range(2)
    ]
    assert given("-", stdin="".join(dumps).encode()).verdict.kind == "unknown"


def test_backward_pass_that_runs_does_not_wait_for_other_ranks() -> None:
    backward = ("_engine_run_backward (torch/autograd/graph.py:7)", "step (t.py:5)")
    for state, kind in (("active", "unknown"), ("idle", "wait-chain")):
        text = process(800, "[rank0] t.py", *backward) + process(801, "[rank1] t.py", *SAVE)
        taken = given("-", stdin=text.replace("(idle)", f"({state})").encode())
        assert taken.verdict.kind == kind


def test_end_of_a_with_block_proves_no_exception() -> None:
    """As `GatheredParameters` of DeepSpeed, which broadcasts at its end."""
    ends = (
        BARRIER[0],
        "__exit__ (deepspeed/runtime/zero/partition_parameters.py:25)",
        "step (t.py:5)",
    )
    text = process(800, "t.py", *SAVE) + process(801, "t.py", *ends)
    verdict = given("-", stdin=text.encode()).verdict
    assert (verdict.kind, verdict.culprits) == ("wait-chain", "800")
    assert "exception" not in verdict.sentence


def test_actors_of_several_classes_may_be_in_different_groups() -> None:
    c10d = "torch/distributed/distributed_c10d.py:9"
    text = "".join(
        process(pid, f"ray::{title}", f"{call} (x.py:3)", "main (a.py:9)").replace(
            "(x.py:3)", place
        )
        for pid, title, call, place in [
            (2101, "Policy.fit", "broadcast", f"({c10d})"),
            (2102, "Policy.fit", "all_gather", f"({c10d})"),
            (771, "Engine.update", "broadcast", f"({c10d})"),
            (772, "Engine.generate", "generate", "(engine.py:8)"),
        ]
    )
    verdict = given("-", stdin=text.encode()).verdict
    assert (verdict.kind, verdict.group, verdict.culprits) == ("wait-chain", "Engine", "772")
    alone = text.partition("Process 771")[0]
    assert given("-", stdin=alone.encode()).verdict.kind == "collective-mismatch"


@pytest.mark.parametrize(
    "title", ["torchrun --nproc 8 t.py", "python -m torch.distributed.run t.py", ""]
)
def test_launcher_is_not_a_rank_that_others_wait_for(title: str) -> None:
    agent = ("_invoke_run (torch/distributed/elastic/agent/server/api.py:9)", "main (run.py:3)")
    text = process(900, title or "python t.py", *agent) + process(901, "python t.py", *BARRIER)
    taken = given("-", stdin=text.encode())
    assert [row.role for row in taken.ranks] == ["launcher", "process"]
    assert taken.verdict.kind == "unknown"
    assert taken.verdict.sentence.startswith("Process 901 waits in barrier")


def test_thread_of_the_backward_pass_stands_for_the_one_that_waits_for_it() -> None:
    main = (
        "_engine_run_backward (torch/autograd/graph.py:7)",
        "loop (ft.py:4)",
        "<module> (ft.py:5)",
    )
    hooks = [
        ("partition (z.py:15)",),
        ("all_reduce (torch/distributed/distributed_c10d.py:29)", "reduce (z.py:13)"),
    ]
    text = "".join(
        process(pid, "ft.py", *main)
        + f"Thread {pid}1 (active)\n"
        + "".join(f"    {each}\n" for each in hook)
        + "\n"
        for pid, hook in zip((811, 812), hooks, strict=True)
    )
    verdict = given("-", stdin=text.encode()).verdict
    assert (verdict.kind, verdict.culprits) == ("wait-chain", "811")


def test_long_chain_keeps_its_inner_end() -> None:
    frames = [f"function_with_a_long_name_{n} (t.py:{n})" for n in range(1, 10)]
    (line,) = [
        line
        for line in lines(given("-", stdin=process(900, "t.py", *frames).encode()))
        if line.startswith("[900]")
    ]
    assert line.endswith("function_with_a_long_name_1 (t.py:1)")
    assert " > … > " in line


def test_rank_between_those_that_were_dumped_is_listed() -> None:
    text = "".join(process(80 + n, f"sglang::scheduler_TP{n}", *BARRIER) for n in (0, 1, 3))
    taken = given("-", stdin=text.encode())
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [(2, "not-given")]
    assert taken.verdict.kind == "unknown"


def test_send_and_its_receive_are_not_different_collectives() -> None:
    c10d = "torch/distributed/distributed_c10d.py:9"
    text = "".join(
        process(90 + n, "t.py", f"{call} ({c10d})", "<module> (t.py:3)")
        for n, call in enumerate(("isend", "irecv"))
    )
    assert given("-", stdin=text.encode()).verdict.kind == "unknown"


def test_stages_of_megatron_wait_for_each_other() -> None:
    """A stage isn't late that waits for the message of another one, though it synchronizes with its GPU meanwhile."""
    file = "/opt/megatron/core/pipeline_parallel/p2p_communication.py"
    stages = [
        process(
            900 + rank,
            f"[rank{rank}] train.py",
            "synchronize (/opt/python/lib/python3.11/site-packages/torch/cuda/__init__.py:985)",
            f"_communicate ({file}:380)",
            f"{call} ({file}:{line})",
            "train (train.py:9)",
        )
        for rank, (call, line) in enumerate([("send_forward", 530), ("recv_forward", 493)])
    ]
    verdict = given("-", stdin="".join(stages).encode()).verdict
    assert verdict.kind == "unknown"
    assert "send_forward" in verdict.sentence and "recv_forward" in verdict.sentence


def test_idle_event_loop_of_one_dump_is_not_a_hang() -> None:
    frames = (
        "select (selectors.py:4)",
        "_run_once (asyncio/base_events.py:18)",
        "<module> (s.py:3)",
    )
    taken = given("-", stdin=process(900, "s.py", *frames).encode())
    assert (taken.verdict.kind, taken.verdict.readings) == ("unknown", ())


LOOP = (
    "select (selectors.py:468)",
    "_run_once (asyncio/base_events.py:1898)",
    "main (serve.py:6)",
)


@pytest.mark.parametrize("frames", [LOOP, SAVE])
@pytest.mark.parametrize(
    ("title", "is_peer"),
    [
        ("python serve.py", False),
        ("/usr/bin/python3 -m ipykernel_launcher -f k.json", False),
        ("/env/bin/python3.11 -u /work/t.py --steps 3", True),
        ("python3.11", True),
        ("python -c from multiprocessing.spawn import spawn_main; spawn_main()", True),
    ],
)
def test_process_of_another_program_does_not_count_as_a_straggler(
    title: str, is_peer: bool, frames: tuple[str, ...]
) -> None:
    dumps = [process(3301 + n, "python t.py", *BARRIER) for n in range(2)]
    taken = given("-", stdin="".join([*dumps, process(2900, title, *frames)]).encode())
    assert (taken.verdict.kind != "unknown") is is_peer
    assert len(taken.ranks) == 3


def sentence_of(*dumps: str) -> tuple[str, str]:
    verdict = given("-", stdin="".join(dumps).encode()).verdict
    return verdict.kind, verdict.sentence


ENGINE = (
    "dequeue (shm_broadcast.py:9)",
    "get_response (vllm/v1/executor/multiproc_executor.py:7)",
    "step (vllm/v1/engine/core.py:3)",
)


WORKER = (
    "poll (zmq/sugar/poll.py:9)",
    "dequeue (shm_broadcast.py:9)",
    "worker_busy_loop (vllm/v1/executor/multiproc_executor.py:5)",
)


POLLS = (
    "recv_requests (sglang/srt/managers/scheduler.py:9)",
    "event_loop_normal (sglang/srt/managers/scheduler.py:5)",
)


def test_engine_that_waits_for_workers_without_work_lacks_a_message() -> None:
    dumps = process(80, "VLLM::EngineCore", *ENGINE), process(81, "VLLM::Worker_TP0", *WORKER)
    assert sentence_of(*dumps) == (
        "wait-chain",
        "Process 80 waits for a message of another worker in dequeue (shm_broadcast.py:9)."
        " Rank 0 waits for work.",
    )


def test_servers_without_requests_do_not_hang() -> None:
    ended = ("run (asyncio/runners.py:3)", "main (server.py:2)")
    dumps = [
        process(80, "server.py", *ended),
        process(81, "VLLM::Worker_TP0", *WORKER),
        process(82, "sglang::scheduler", *POLLS),
    ]
    kind, text = sentence_of(*dumps)
    assert kind == "unknown"
    assert text == (
        "These stacks show no hang: Rank 0, process 82 wait for work."
        " What coroutines of process 80 await can't be seen in stacks."
    )


def test_polling_rank_of_an_idle_engine_is_not_blamed() -> None:
    dumps = [
        process(80 + rank, f"sglang::scheduler_TP{rank}", *frames)
        for rank, frames in enumerate((POLLS, BARRIER, BARRIER))
    ]
    assert sentence_of(*dumps)[0] == "unknown"


def test_process_that_waits_in_an_event_loop_is_not_blamed_for_a_busy_one() -> None:
    get = ("get (ray/_private/worker.py:9)", "fit (t.py:5)")
    post = ("readinto (socket.py:705)", "call_tool (tool.py:64)")
    taken = given(
        "-",
        stdin=(
            process(80, "ray::Runner.fit", *get) + process(81, "ray::Agent.run", *post)
        ).encode(),
    )
    assert (taken.verdict.kind, taken.verdict.culprits) == ("wait-chain", "81")


def test_locks_are_named_by_their_address_or_source() -> None:
    gdb = (
        'Thread 2 (Thread 0x7f2a4bfff640 (LWP 4243) "python3"):\n'
        "Traceback (most recent call first):\n"
        "  <built-in method __enter__ of _thread.lock object at remote 0x7f49>\n"
        '  File "/w/load.py", line 31, in fetch\n    with self.lock:\n\n'
        'Thread 1 (Thread 0x7f2a51d3c1c0 (LWP 4242) "python3"):\n'
        "Traceback (most recent call first):\n"
        "  <built-in method acquire of _thread.lock object at remote 0x7f49>\n"
        '  File "/w/train.py", line 12, in <module>\n    load()\n'
    )
    kind, text = sentence_of(gdb)
    assert kind == "wait-chain"
    assert text.startswith("Process 4242 waits for the lock 0x7f49 in <module> (train.py:12).")
    assert "A thread waits for the lock 0x7f49 in fetch (load.py:31)." in text
    stack = (
        "Traceback for thread 4242 (python) [] (most recent call last):\n"
        '    (Python) File "/w/cache.py", line 7, in get\n        with self._lock, other.lock:\n'
    )
    assert "waits for the lock self._lock, other.lock in get (cache.py:7)." in sentence_of(stack)[1]


def test_threads_to_which_gdb_switches_are_of_one_process() -> None:
    text = (
        "(gdb) info threads\n"
        '* 1    Thread 0x7f5a0c5c1740 (LWP 917) "python" futex_wait () at futex-internal.h:146\n'
        '  9    Thread 0x7f574bfff640 (LWP 920) "pt_autograd_0" futex_wait () at futex-internal.h:146\n'
        "(gdb) thread apply 1 9 bt\n\n"
        'Thread 1 (Thread 0x7f5a0c5c1740 (LWP 917) "python"):\n'
        "#0  __GI___lll_lock_wait (futex=0x55) at ./nptl/lowlevellock.c:49\n"
        "#1  0x00007f in c10::cuda::malloc(unsigned long) () from /x/libc10_cuda.so\n"
        "--Type <RET> for more, q to quit, c to continue without paging--\n\n"
        'Thread 9 (Thread 0x7f574bfff640 (LWP 920) "pt_autograd_0"):\n'
        "#0  take_gil (tstate=0x7f) at /p/Python/ceval_gil.h:256\n"
        "(gdb) thread 1\n[Switching to thread 1 (Thread 0x7f5a0c5c1740 (LWP 917))]\n(gdb) py-bt\n"
        'Traceback (most recent call first):\n  File "/w/ppo.py", line 31, in grow\n    x = empty(n)\n'
        "(gdb) thread 9\n[Switching to thread 9 (Thread 0x7f574bfff640 (LWP 920))]\n(gdb) py-bt\n"
        "Traceback (most recent call first):\n  Waiting for the GIL\n"
        '  File "/w/ppo.py", line 20, in backward\n    return grad\n(gdb) detach\n'
    )
    (dump,) = dumps_in(text)
    assert dump.pid == 917
    _, sentence = sentence_of(text)
    assert sentence.startswith("Process 917 waits for a lock of native code in grow (ppo.py:31).")
    assert "A thread waits for the GIL in backward (ppo.py:20)." in sentence


def test_attachment_of_gdb_ends_at_the_next_dump() -> None:
    text = f"Attaching to process 900\n{process(70, 't.py', *BARRIER)}\n(gdb) bt\n#0  poll () from /x/libc.so.6\n"
    assert [each.pid for each in dumps_in(text)] == [70, 0]


def test_functions_in_native_code_are_waits_of_a_process() -> None:
    text = "(gdb) bt\n#0  futex_wait () from /x/libc.so.6\n#1  ncclCommInitRank () from /x/libnccl.so.2\n"
    assert "waits for the other ranks of an NCCL communicator" in sentence_of(text)[1]


def test_running_processes_are_not_judged_in_one_dump() -> None:
    dump = process(80, "t.py", "forward (model.py:7)").replace("(idle)", "(active)")
    kind, text = sentence_of(dump)
    assert kind == "unknown"
    assert (
        text == "Process 80 is in forward (model.py:7): whether it moves can't be seen in one dump."
    )


def test_stacks_of_the_kernel_are_read() -> None:
    text = (
        "# for p in 40 41; do echo == $p; cat /proc/$p/stack; done\n== 40\n"
        "[<0>] rpc_wait_bit_killable+0x24/0xa0 [sunrpc]\n[<0>] nfs_file_fsync+0xb2/0x1f0 [nfs]\n"
        "[<0>] do_syscall_64+0x5c/0x90\n== 41\n"
        "[<0>] futex_wait_queue+0x69/0x90\n[<0>] do_syscall_64+0x5c/0x90\n"
    )
    kind, sentence = sentence_of(text)
    assert kind == "wait-chain"
    assert "Process 40 waits for a network file system" in sentence
    assert "Process 41 waits for a lock or another thread" in sentence


def test_kernel_stack_of_a_dumped_process_adds_none_and_says_nothing_of_joining() -> None:
    kernel = "== {}\n[<0>] {}+0x24/0xa0\n[<0>] do_syscall_64+0x5c/0x90\n"
    stacks = kernel.format(400, "uvm_spin_loop") + kernel.format(401, "do_sys_poll")
    frames = ("_store_based_barrier (torch/distributed/distributed_c10d.py:9)", "main (t.py:3)")
    picture = given("-", stdin=f"{stacks}\n{process(401, 't.py', *frames)}".encode())
    assert "joined" not in picture.verdict.sentence
    assert "process 400 is elsewhere in uvm_spin_loop" in picture.verdict.sentence
    assert sorted(rank.pid for rank in picture.ranks) == [400, 401]


def test_workers_of_joblib_without_tasks_wait_for_work() -> None:
    get = (
        "_recv (multiprocessing/connection.py:395)",
        "get (multiprocessing/queues.py:103)",
        "_process_worker (joblib/externals/loky/process_executor.py:428)",
    )
    assert sentence_of(process(80, "t.py", *get))[1].endswith("Process 80 waits for work.")


def test_rank_alone_is_not_taken_for_all_ranks() -> None:
    frames = ("init_process_group (torch/distributed/distributed_c10d.py:9)", "main (t.py:3)")
    kind, sentence = sentence_of(process(80, "t.py", *frames))
    assert kind == "initialization"
    assert sentence == "Process 80 waits for the others to form a process group."


def test_place_of_a_process_without_a_named_wait_is_in_the_sentence() -> None:
    frames = ("backend_compile (jax/_src/compiler.py:321)", "sample (pi.py:40)")
    kind, sentence = sentence_of(process(80, "t.py", *frames))
    assert kind == "unknown"
    assert "Process 80 is in backend_compile (compiler.py:321)" in sentence


def ranks_and_server(late: tuple[str, ...], server: str, state: str = "idle") -> bytes:
    trainers = (
        f"rank {rank}:\n" + process(810 + rank, "t.py", *frames)
        for rank, frames in enumerate((late, BARRIER, BARRIER))
    )
    return ("".join(trainers) + "server:\n" + server.replace("idle", state)).encode()


@pytest.mark.parametrize("state", ["active", "idle"])
def test_rank_that_awaits_an_answer_is_at_most_possible_in_one_dump(state: str) -> None:
    asks = ("readinto (socket.py:705)", "generate (client.py:7)", "step (t.py:4)")
    server = process(900, "serve.py", "forward (qwen.py:3)", "<module> (serve.py:9)")
    verdict = given("-", stdin=ranks_and_server(asks, server, state)).verdict
    assert (verdict.kind, verdict.culprits) == ("wait-chain", "0")
    assert verdict.confidence <= 0.5


@pytest.mark.parametrize("states", [("active", "idle"), ("active", "active", "idle")])
def test_active_rank_for_which_others_wait_may_be_slow_or_not_in_one_dump(
    states: tuple[str, ...],
) -> None:
    """sglang#12076: most ranks spin on a GPU, in a collective that the rank which waits has left out."""
    text = "".join(
        f"rank {rank}:\n"
        + process(810 + rank, "t.py", *(SAVE if state == "active" else BARRIER)).replace(
            "idle", state
        )
        for rank, state in enumerate(states)
    )
    verdict = given("-", stdin=text.encode()).verdict
    assert (verdict.kind, verdict.confidence) == ("wait-chain", 0.5)


def test_actor_whose_title_names_a_method_does_not_wait_for_work() -> None:
    """verl#7180: an async actor shows nothing of its coroutines in its threads."""
    get = ("get (ray/_private/worker.py:9)", "generate (loop.py:8)", "fit (t.py:5)")
    loop = (
        "main_loop (ray/_private/worker.py:9)",
        "<module> (ray/_private/workers/default_worker.py:3)",
    )
    runner = process(80, "ray::Runner.fit", *get)
    verdict = given(
        "-", stdin=(runner + process(81, "ray::Agent.generate", *loop)).encode()
    ).verdict
    assert (verdict.kind, verdict.culprits, verdict.confidence) == ("wait-chain", "81", 0.5)
    assert verdict.sentence.endswith("What coroutines of Agent 81 await can't be seen in stacks.")
    assert "--inside" in verdict.next_step
    assert sentence_of(runner, process(81, "ray::Agent", *loop))[1].endswith(
        "Agent 81 waits for work."
    )


LOADS = (
    "get (multiprocessing/queues.py:7)",
    "__next__ (torch/utils/data/dataloader.py:5)",
    "epoch (t.py:3)",
    "<module> (t.py:9)",
)
FORKED = (
    "_worker_loop (torch/utils/data/_utils/worker.py:2)",
    "run (multiprocessing/process.py:1)",
    "__init__ (torch/utils/data/dataloader.py:9)",
    *LOADS[2:],
)
LOCKED = ("acquire (logging/__init__.py:9)", "__getitem__ (data.py:57)")


@pytest.mark.parametrize(
    ("state", "kind", "text"),
    [
        (
            "idle",
            "data-loader",
            "Process 80 waits for its data loader."
            " Process 81 waits for the lock of a log handler in __getitem__ (data.py:57).",
        ),
        (
            "active",
            "slow",
            "No sign of a hang: process 80 waits for its data loader, which still works.",
        ),
    ],
)
def test_forked_worker_of_a_data_loader_is_not_its_parent(state: str, kind: str, text: str) -> None:
    dumps = (
        process(80, "t.py", *LOADS),
        process(81, "t.py", *LOCKED, *FORKED).replace("idle", state),
        process(82, "t.py", "get (multiprocessing/queues.py:7)", *FORKED),
    )
    assert sentence_of(*dumps) == (kind, text)
