"""The processes and nodes to which the dumps in a text belong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.observe.hangs.given_dumps import (
    BARRIER,
    FAULTHANDLER,
    PY_SPY,
    PYSTACK,
    SAVE,
    dumps_in,
    given,
    process,
    stacks,
)


@pytest.mark.parametrize(
    ("prefix", "rank", "pid", "host"),
    [
        ("[rank3]: ", 3, 0, ""),
        ("[default1]:", 1, 0, ""),
        ("(Trainer pid=77, ip=10.0.0.7) ", None, 77, "10.0.0.7"),
        ("\x1b[36m(Trainer pid=77)\x1b[0m ", None, 77, ""),
        ("2026-01-02 03:04:{n:02} INFO [rank2] ", 2, 0, ""),
        ("> ", None, 0, ""),
        ("worker-0  | ", None, 0, ""),
    ],
)
@pytest.mark.parametrize("text", [PY_SPY, FAULTHANDLER.format(name="")])
def test_prefix_of_a_log_is_learned_from_the_head_of_a_dump(
    text: str, prefix: str, rank: int | None, pid: int, host: str
) -> None:
    (plain,) = dumps_in(text)
    lines = [prefix.format(n=n) + line for n, line in enumerate(text.splitlines())]
    (dump,) = dumps_in("\n".join(["Epoch 1 (step:3)", *lines, "other (x.py:3)"]))
    assert stacks(dump) == stacks(plain)
    assert (dump.tags.rank, dump.tags.pid, dump.tags.host) == (rank, pid, host)


def test_lines_of_several_ranks_may_be_mixed() -> None:
    parts = [[f"[rank{rank}]: {line}" for line in PY_SPY.splitlines()] for rank in range(3)]
    mixed = "\n".join(line for lines in zip(*parts, strict=True) for line in lines)
    (plain,) = dumps_in(PY_SPY)
    dumps = list(dumps_in(mixed))
    assert [each.tags.rank for each in dumps] == [0, 1, 2]
    assert all(stacks(each) == stacks(plain) for each in dumps)


def test_processes_of_containers_with_one_pid_do_not_move_from_one_stack_to_the_other(
    tmp_path: Path,
) -> None:
    dumps = [process(1, "python t.py", *frames) for frames in (BARRIER, SAVE)]
    for number, dump in enumerate(dumps):
        (tmp_path / f"pod-{number}").mkdir()
        (tmp_path / f"pod-{number}" / "stack.txt").write_text(dump)
    for taken in (given(tmp_path), given("-", stdin="== next ==\n".join(dumps).encode())):
        assert len(taken.ranks) == 2
        assert (taken.verdict.kind, taken.verdict.confidence) == ("wait-chain", 0.5)
    actors = [f"(Trainer pid=812, ip=10.0.0.{n}) " for n in (7, 8)]
    text = "".join(
        prefix + line + "\n"
        for prefix, dump in zip(actors, dumps, strict=True)
        for line in dump.splitlines()[2:-1]
    )
    assert [row.node for row in given("-", stdin=text.encode()).ranks] == ["10.0.0.7", "10.0.0.8"]


@pytest.mark.parametrize(
    ("heading", "role"),
    [
        ("=== Rank {n}: http://node{n}:4118 ===", "rank"),
        ("rank {n}:", "rank"),
        ("**Rank {n}**", "rank"),
        ("$ kubectl exec train-{n} -- py-spy dump --pid 512", "process"),
        ("root@node-{n}:/app# py-spy dump --pid 512", "process"),
        ("$ ssh node{n} gdb -p 512 -ex py-bt", "process"),
        ("### trainer-{n}", "process"),
        ("docker exec trainer_{n} py-spy dump --pid 512", "process"),
        ("(base) me@node-{n}:~$ py-spy dump --pid 512", "process"),
        ("node{n}% py-spy dump --pid 512", "process"),
        ("==> train-{n}.log <==", "process"),
        ("on node {n}, host gpu-{n}", "process"),
        ("And this is what the trainer of rank 5 on node-{n} does:", "process"),
    ],
)
def test_headings_tell_processes_with_one_pid_apart(heading: str, role: str) -> None:
    dumps = [process(512, "python t.py", *frames) for frames in (BARRIER, SAVE)]
    text = "".join(f"{heading.format(n=n)}\n{dump}\n" for n, dump in enumerate(dumps))
    taken = given("-", stdin=text.encode())
    assert [(row.role, row.rank) for row in taken.ranks] == [(role, 0), (role, 1)]
    assert (taken.verdict.kind, taken.verdict.culprits) == ("wait-chain", "1")


@pytest.mark.parametrize(
    "headings",
    [
        ("First dump:", "10 seconds later:"),
        ("$ py-spy dump --pid 512", "$ sleep 30; sudo py-spy dump -p 512 --native"),
        ("### Sample 1 (02:17:00)", "### Sample 2 (02:17:30)"),
        ("", "Dumped again:"),
        ("# t=0", "# t=30s"),
        ("loss 3.25", "loss 3.01"),
        ("2026-01-03 10:00:00 INFO saving", "2026-01-03 10:05:00 INFO loading data"),
        ("first:", "30 s later, same pids:"),
        ("node-1:", "after 30s, still running:"),
        ("", "and again, both ranks:"),
    ],
)
def test_headings_of_later_dumps_tell_no_processes_apart(headings: tuple[str, str]) -> None:
    dump = process(512, "python t.py", *SAVE)
    text = "".join(f"{heading}\n{dump}\n" for heading in headings)
    assert [row.pid for row in given("-", stdin=text.encode()).ranks] == [512]


@pytest.mark.parametrize("width", [44, 50, 57, 61, 72])
@pytest.mark.parametrize(
    "text",
    [
        process(
            3303,
            "/usr/bin/python3 -u /workspace/megatron/pretrain_gpt.py --layers 32",
            "wait (torch/distributed/distributed_c10d.py:2791)",
            "_communicate (/workspace/megatron/core/pipeline/p2p_communication.py:401)",
            "forward_backward_pipelining_without_interleaving (/workspace/megatron/schedules.py:2140)",
        ),
        'Thread 0x00007fa2ab1a56c0 (most recent call first):\n  File "/workspace/megatron/core/pipeline/p2p.py", line'
        ' 4012 in _communicate\n  File "/workspace/megatron/train.py", line 9 in <module>\n',
    ],
    ids=["py-spy", "faulthandler"],
)
def test_lines_that_a_terminal_has_wrapped_are_joined(text: str, width: int) -> None:
    wrapped = [
        line[at : at + width]
        for line in text.splitlines()
        for at in range(0, max(len(line), 1), width)
        if len(line) > 52 or at == 0
    ]
    if "most recent" in text:
        wrapped[:1] = [text.splitlines()[0]]
        del wrapped[1 : wrapped.index(next(each for each in wrapped if each.startswith("  File")))]
    (plain,), (dump,) = dumps_in(text), dumps_in("\n".join(wrapped))
    assert (stacks(dump), dump.pid) == (stacks(plain), plain.pid)
    assert dump.title.replace(" ", "") == plain.title.replace(" ", "")


@pytest.mark.parametrize(
    "prefix", ["{n}: ", "[1,{n}]<stdout>:", "trainer-{n} ", "gpu-1{n}: ", "[rank{n}]: "]
)
def test_mixed_lines_of_processes_are_told_apart_by_any_prefix(prefix: str) -> None:
    dumps = [process(5 + n, "t.py", *each).splitlines() for n, each in enumerate((BARRIER, SAVE))]
    mixed = [
        prefix.format(n=n) + line
        for lines in zip(*(dump[2:5] for dump in dumps), strict=True)
        for n, line in enumerate(lines)
    ]
    found = list(dumps_in("\n".join(mixed)))
    assert sorted(stacks(each)["MainThread"][-1].split()[0] for each in found) == [
        "barrier",
        "save",
    ]


@pytest.mark.parametrize("as_files", [True, False])
def test_same_pid_on_two_nodes_is_two_processes(tmp_path: Path, as_files: bool) -> None:
    dumps = [process(41877, "python t.py", *frames) for frames in (BARRIER, SAVE)]
    if as_files:
        for node, dump in zip("ab", dumps, strict=True):
            (tmp_path / f"node-{node}.out").write_text(dump)
        taken = given(tmp_path)
    else:
        lines = [f"n0{n}: {line}" for n, dump in enumerate(dumps) for line in dump.splitlines()]
        taken = given("-", stdin="\n".join(lines).encode())
    assert [row.pid for row in taken.ranks] == [41877, 41877]
    assert (taken.verdict.kind, taken.verdict.confidence) == ("wait-chain", 0.5)


def test_dump_that_is_repeated_in_a_file_is_a_second_sample() -> None:
    text = process(41877, "python t.py", *SAVE) * 2
    (row,) = given("-", stdin=text.encode()).ranks
    assert row.pid == 41877
    (again,) = given("-", stdin=(PYSTACK * 2).encode()).ranks
    assert again.role == "process"


def test_later_dump_of_a_place_is_told_apart_where_several_were_named() -> None:
    dump = process(512, "python t.py", *SAVE)
    headings = ("alpha:", "beta:", "alpha again, still running:")
    text = "".join(f"{heading}\n{dump}\n" for heading in headings)
    assert len(given("-", stdin=text.encode()).ranks) == 3
    others = f"{dump}\nsame on the other node:\n{dump}"
    assert len(given("-", stdin=others.encode()).ranks) == 2


@pytest.mark.parametrize(
    "heading", ["### node b (rank 1)", "rank 1 (node b)", "## rank 1 (10.0.0.4)"]
)
def test_heading_with_parentheses_does_not_count_as_a_frame(heading: str) -> None:
    dumps = [process(800 + n, "python t.py", *BARRIER) for n in range(2)]
    taken = given("-", stdin=f"# rank 0\n{dumps[0]}{heading}\n{dumps[1]}".encode())
    assert [(row.role, row.rank) for row in taken.ranks] == [("rank", 0), ("rank", 1)]
    assert [len(each.frames) for each in taken.classes] == [len(BARRIER)]
