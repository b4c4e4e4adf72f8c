"""The use of GPUs by the lines of nvidia-smi, and by a fake of it: no GPU is needed, and none that hangs is waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eagleray.observe.hangs.collecting import local
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.model import GpuRow
from eagleray.remote.sampling import gpus
from eagleray.remote.sampling.gpus import UNKNOWN, Gpu, Gpus, GpuUse, only_visible, parsed, uses
from eagleray.remote.sampling.processes import DATA_LOADER, RANK, Described

FIRST = "GPU-9c72ac69-836a-c2ee-89b7-4b51b68317a8"
SECOND = "GPU-4b51b683-17a8-836a-c2ee-9c72ac6989b7"
GPUS = f"{FIRST}, 0, 97\n{SECOND}, 1, 0\n"
# A process that has the driver of CUDA in its memory, as each that uses a GPU.
USES_CUDA = """
import mmap, sys, time
with open(sys.argv[1]) as file:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """Starts processes that use CUDA; they end with the test."""
    library = tmp_path / "libcuda.so.1"
    library.write_bytes(b"-" * 4096)
    started = []

    def start(**environment: str) -> int:
        process = subprocess.Popen(
            [sys.executable, "-c", USES_CUDA, str(library)],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process.pid

    yield start
    for each in started:
        each.kill()
        each.communicate()


def fake_nvidia_smi(folder: Path, apps: str, first: str = "") -> str:
    """A fake of nvidia-smi, which begins with `first`, then prints the file `gpus` or `apps` beside it."""
    (folder / "gpus").write_text(GPUS)
    (folder / "apps").write_text(apps)
    program = folder / "nvidia-smi"
    program.write_text(
        f'#!/bin/sh\n{first}\ncase "$1" in --query-gpu=*) cat {folder}/gpus ;; *) cat {folder}/apps ;; esac\n'
    )
    program.chmod(0o755)
    return str(program)


def described(pid: int, role: str = RANK) -> Described:
    return Described(pid, 1, role, "world", 0, "train.py")


def test_memory_and_use_are_read_from_both_queries(process: Callable[..., int]) -> None:
    pid = process()
    table = parsed(GPUS, f"{pid}, {FIRST}, 62464\n{pid}, {SECOND}, 512\n1, {FIRST}, 3\n")
    assert uses(table, [described(pid)]) == {pid: (GpuUse(0, 97, 62464), GpuUse(1, 0, 512))}


def test_lines_of_a_divided_gpu_add_up_and_unknown_values_stay_unknown(
    process: Callable[..., int],
) -> None:
    pid, other = process(), process()
    table = parsed(
        f"{FIRST}, 0, [N/A]\n{SECOND}, 1, [Not Supported]\n",
        f"{pid}, {FIRST}, 100\n{pid}, {FIRST}, 28\n{other}, {SECOND}, [N/A]\n",
    )
    assert uses(table, [described(pid), described(other)]) == {
        pid: (GpuUse(0, UNKNOWN, 128),),
        other: (GpuUse(1, UNKNOWN, UNKNOWN),),
    }


def test_process_that_has_opened_no_gpu_is_another_outside_of_the_container() -> None:
    table = parsed(GPUS, f"{os.getpid()}, {FIRST}, 100\n")
    assert uses(table, [described(os.getpid())]) == {}


def test_hidden_pids_leave_the_only_gpu_that_the_process_sees(process: Callable[..., int]) -> None:
    one = process(CUDA_VISIBLE_DEVICES="1")
    several = process(CUDA_VISIBLE_DEVICES="0,1")
    loader = process(CUDA_VISIBLE_DEVICES="1")
    listed = [described(one), described(several), described(loader, DATA_LOADER)]
    assert uses(parsed(GPUS, ""), listed) == {one: (GpuUse(1, 0, UNKNOWN),)}


@pytest.mark.parametrize(
    ("visible", "number"),
    [
        ("1", 1),
        (FIRST, 0),
        ("GPU-9c72", 0),
        ("", None),
        ("0,1", None),
        ("-1", None),
        ("GPU-", None),
    ],
)
def test_visible_gpu_is_named_by_number_or_uuid(visible: str, number: int | None) -> None:
    chosen = only_visible([Gpu(FIRST, 0, 1), Gpu(SECOND, 1, 1)], visible)
    assert (chosen.number if chosen else None) == number


@pytest.mark.parametrize(
    "output",
    ["", "No devices were found\n", "NVIDIA-SMI has failed because it couldn't", ", ,\n,,,\n"],
)
def test_other_outputs_list_no_gpu(output: str) -> None:
    assert parsed(output, output) == gpus.GpuTable()


def test_nvidia_smi_that_hangs_is_not_waited_for_nor_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpus, "TIME_LIMIT_S", 0.2)
    asked = Gpus(fake_nvidia_smi(tmp_path, "", first="exec sleep 600"))
    answer = asked.ask()
    assert answer is not None and answer.result() == gpus.GpuTable()
    assert asked.ask() is None


def test_machine_without_nvidia_smi_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gpus, "_USUAL_PLACE", str(tmp_path / "none"))
    assert gpus.find_program() == ""
    assert Gpus("").ask() is None


async def test_picture_has_the_gpu_of_the_first_and_the_last_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, process: Callable[..., int]
) -> None:
    pid = process(RANK="3", MASTER_PORT="1")
    fake_nvidia_smi(tmp_path, f"{pid}, {FIRST}, 62464\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def on_progress(done: int, _all: int) -> None:
        (tmp_path / "gpus").write_text(f"{FIRST}, 0, 3\n")

    [row] = (await local.take([pid], SamplingPlan(on_progress, pause_s=0.2))).ranks
    assert row.gpus == (GpuRow(0, 97, 3, 62464),)
