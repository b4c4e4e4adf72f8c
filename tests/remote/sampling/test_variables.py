"""Samples read the variables of processes that hang, poll, or continue, without stopping them."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eagleray.remote.sampling import proc
from eagleray.remote.sampling.file_locks import PolledLock, polled_lock
from eagleray.remote.sampling.node_sampler import ProcessSample, Sampler
from eagleray.remote.sampling.processes import described
from eagleray.remote.sampling.pyspy_dumps import Tools, dump_with_variables
from eagleray.remote.sampling.ray_objects import MORE
from eagleray.tools.pyspy import find_program

from tests.remote.sampling.python_process import python

# `all_reduce` is called from a file with the path of PyTorch's own.
COLLECTIVE = """
import os
import time

def all_reduce():
    time.sleep(0.01)

def never_ends():
    while True:
        time.sleep(0.01)
"""
PROGRAM = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from torch.distributed import distributed_c10d as dist

def train():
    for step in range(10**9):
        dist.all_reduce()

def wait():
    step, filled = 7, []
    def fill():
        while True:
            filled.append(len(filled))
            threading.Event().wait(0.01)
    threading.Thread(target=fill, daemon=True).start()
    dist.never_ends()

def clean_up():
    failed = ValueError("shape of microbatch 3 does not fit")
    dist.never_ends()

print("ready", flush=True)
globals()[sys.argv[2]]()
"""


@contextmanager
def running(function: str, folder: Path) -> Iterator[int]:
    package = folder / "torch" / "distributed"
    package.mkdir(parents=True)
    for part in (package.parent, package):
        (part / "__init__.py").touch()
    (package / "distributed_c10d.py").write_text(COLLECTIVE)
    with python(PROGRAM, str(folder), function) as pid:
        yield pid


def sampled(pid: int, py_spy: str = "") -> list[ProcessSample]:
    sampler = Sampler(described([pid], proc.all_processes()), Tools(py_spy or find_program()))
    taken = []
    for number in range(3):
        if number:
            time.sleep(0.3)
        [sample] = sampler.round(is_last=number == 2).processes
        taken.append(sample)
    return taken


def test_loop_that_calls_a_collective_again_is_told_by_its_own_variables(tmp_path: Path) -> None:
    with running("train", tmp_path) as pid:
        taken = sampled(pid)
    assert [sample.variables_changed for sample in taken] == [False, False, True]


def test_wait_that_polls_has_changed_nothing_and_a_list_that_another_thread_fills_says_nothing(
    tmp_path: Path,
) -> None:
    with running("wait", tmp_path) as pid:
        taken = sampled(pid)
    assert not any(sample.variables_changed for sample in taken)
    # It was woken often enough for a look at its variables.
    assert [sample.how for sample in taken][1:] == ["py-spy nonblocking"] * 2


def test_exception_of_a_process_that_hangs_is_read_without_stopping_it(tmp_path: Path) -> None:
    with running("clean_up", tmp_path) as pid:
        last = sampled(pid)[-1]
    assert (last.how, last.exceptions) == ("py-spy nonblocking", ("ValueError",))


WORKER = """
import time

class ObjectRef:
    pass

def get(object_refs):
    print("ready", flush=True)
    time.sleep(600)
"""


def test_all_references_of_a_batch_are_read(tmp_path: Path) -> None:
    package = tmp_path / "ray" / "_private"
    package.mkdir(parents=True)
    for part in (package.parent, package):
        (part / "__init__.py").touch()
    (package / "worker.py").write_text(WORKER)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from ray._private.worker import ObjectRef, get\n"
        "get([ObjectRef() for _ in range(20)])"
    )
    with python(code) as pid:
        dump = dump_with_variables(pid, Tools(find_program()))
    (main,) = dump.threads
    assert len(main.objects) == 20 and MORE not in main.objects


def test_process_whose_variables_cannot_be_read_while_it_runs_has_its_stack(tmp_path: Path) -> None:
    """As one that computes, about a third of whose dumps fail so."""
    py_spy = tmp_path / "py-spy"
    py_spy.write_text(
        f'#!/bin/sh\ncase " $* " in *" --nonblocking "*) exit 1;; esac\nexec {find_program()} "$@"\n'
    )
    py_spy.chmod(0o700)
    with running("clean_up", tmp_path) as pid:
        last = sampled(pid, str(py_spy))[-1]
    assert (last.how, last.reason, last.exceptions) == ("py-spy blocking", "", ())


def test_lock_file_is_unknown_where_variables_name_two(tmp_path: Path) -> None:
    names = ("a.lock", "b.lock")
    for name in names:
        (tmp_path / name).touch()

    def polled(*paths: Path) -> PolledLock | None:
        variables = [{"name": path.name, "repr": f'"{path}"'} for path in paths]
        baton = {"name": "self", "repr": "<FileBaton at 0x7f12>"}
        wait = {"filename": "/lib/torch/utils/file_baton.py", "locals": [baton]}
        return polled_lock(os.getpid(), [wait, {"filename": "ops.py", "locals": variables}])

    first, second = (tmp_path / name for name in names)
    assert polled(first) == PolledLock(str(first), is_until_deleted=True)
    assert polled(first, second) is None
    assert polled(tmp_path / "no.lock", tmp_path) is None
