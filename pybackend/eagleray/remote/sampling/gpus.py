"""Which GPUs each process of a node uses, and how busy they are, by nvidia-smi; nothing where that isn't there.

nvidia-smi waits for ever in the kernel once a GPU is lost, and then can't even be killed (leptonai/gpud#117): so it is
never waited for longer than its limit, nor asked again.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from . import memory_environment, proc
from .processes import DATA_LOADER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .processes import Described

PROGRAM = "nvidia-smi"
TIME_LIMIT_S = 3.0
UNKNOWN = -1
# Not in the PATH of every job.
_USUAL_PLACE = "/usr/bin/nvidia-smi"
_CSV = "--format=csv,noheader,nounits"
_QUERIES = (
    ("--query-gpu=uuid,index,utilization.gpu", _CSV),
    ("--query-compute-apps=pid,gpu_uuid,used_memory", _CSV),
)
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_MOST_LINES = 10_000
_MOST_GPUS = 1024
_MOST_MIB = 2**30
_OPENED = re.compile(r"/dev/nvidia\d|/libcuda\.so")


class GpuUse(NamedTuple):
    """A GPU that a process uses, by its number on the node; each of the other values is UNKNOWN if no tool reports it.

    `percent` is the time in which any process kept it busy, `memory_mib` what this process holds of its memory.
    """

    number: int
    percent: int
    memory_mib: int


class Gpu(NamedTuple):
    """A GPU of this node."""

    uuid: str
    number: int
    percent: int


class GpuTable(NamedTuple):
    """The lists of nvidia-smi: the GPUs, and what each process holds of them."""

    gpus: tuple[Gpu, ...] = ()
    apps: tuple[tuple[int, str, int], ...] = ()


class Gpus:
    """Asks nvidia-smi of one node some times; `program` is "" where it isn't there."""

    def __init__(self, program: str) -> None:
        self._program = program

    def ask(self) -> Future[GpuTable] | None:
        """Returns the lists of nvidia-smi, later; None without it."""
        if not self._program:
            return None
        pool = ThreadPoolExecutor(1)
        answer = pool.submit(self._table)
        pool.shutdown(wait=False)
        return answer

    def _table(self) -> GpuTable:
        with ThreadPoolExecutor(len(_QUERIES)) as pool:
            outputs = list(pool.map(self._output, _QUERIES))
        if None in outputs:
            self._program = ""
        return parsed(outputs[0] or "", outputs[1] or "")

    def _output(self, query: Sequence[str]) -> str | None:
        """Returns the output of a query, "" if it fails, None if it can't be started or doesn't end in time."""
        environment = {**os.environ, "LC_ALL": "C"}
        try:
            process = subprocess.Popen(
                [self._program, *query],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        except OSError:
            return None
        try:
            output, _ = process.communicate(timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            # It isn't waited for: see above.
            process.kill()
            return None
        return output.decode("utf-8", "replace") if process.returncode == 0 else ""


def find_program() -> str:
    """The path of nvidia-smi; "" if this machine doesn't have it."""
    return shutil.which(PROGRAM) or (_USUAL_PLACE if os.access(_USUAL_PLACE, os.X_OK) else "")


def parsed(gpus: str, apps: str) -> GpuTable:
    """The answers to the two queries; a line that is something else is left out."""
    return GpuTable(tuple(_gpus(gpus)), tuple(_apps(apps)))


def uses(table: GpuTable, processes: Iterable[Described]) -> dict[int, tuple[GpuUse, ...]]:
    """The GPUs of each of `processes`, by pid.

    1. Those at which nvidia-smi lists it.
    2. Where it lists none of them, as in a container that hides pids: the only one that CUDA_VISIBLE_DEVICES of the
       process allows, if it has opened a GPU.
    """
    if not table.gpus:
        return {}
    listed = list(processes)
    by_pid = dict(_listed(table, {each.pid for each in listed}))
    if by_pid:
        return by_pid
    return {
        each.pid: (GpuUse(gpu.number, gpu.percent, UNKNOWN),)
        for each in listed
        if each.role != DATA_LOADER
        and _has_opened(each.pid)
        and (gpu := only_visible(table.gpus, _visible(each.pid))) is not None
    }


def only_visible(gpus: Iterable[Gpu], visible: str) -> Gpu | None:
    """The GPU that CUDA_VISIBLE_DEVICES names, by number or by the beginning of its UUID; None if it names several."""
    name = visible.strip()
    matching = [
        gpu
        for gpu in gpus
        if name == str(gpu.number) or (name.startswith("GPU-") and gpu.uuid.startswith(name))
    ]
    return matching[0] if len(matching) == 1 else None


def _listed(table: GpuTable, wanted: set[int]) -> Iterator[tuple[int, tuple[GpuUse, ...]]]:
    by_uuid = {gpu.uuid: gpu for gpu in table.gpus}
    memory: dict[int, dict[Gpu, int]] = {}
    for pid, uuid, mib in table.apps:
        gpu = by_uuid.get(uuid)
        # In a container a pid may belong to another process outside.
        if pid in wanted and gpu is not None and (pid in memory or _has_opened(pid)):
            held = memory.setdefault(pid, {})
            # A process has a line for each part of a divided GPU.
            held[gpu] = mib if gpu not in held else _sum(held[gpu], mib)
    for pid, held in memory.items():
        yield (
            pid,
            tuple(
                GpuUse(gpu.number, gpu.percent, mib)
                for gpu, mib in sorted(held.items(), key=_by_number)
            ),
        )


def _by_number(entry: tuple[Gpu, int]) -> int:
    return entry[0].number


def _sum(left: int, right: int) -> int:
    return UNKNOWN if UNKNOWN in (left, right) else left + right


def _has_opened(pid: int) -> bool:
    return bool(_OPENED.search(proc.maps(pid)))


def _visible(pid: int) -> str:
    """CUDA_VISIBLE_DEVICES as the process has it now: Ray (2.60) sets it after the start."""
    now = memory_environment.variables(pid, (_VISIBLE,))
    return {**proc.environment(pid), **now}.get(_VISIBLE, "")


def _gpus(text: str) -> Iterator[Gpu]:
    for fields in _rows(text):
        if len(fields) == 3 and (number := _number(fields[1], _MOST_GPUS)) != UNKNOWN:
            yield Gpu(fields[0], number, _number(fields[2], 100))


def _apps(text: str) -> Iterator[tuple[int, str, int]]:
    for fields in _rows(text):
        if len(fields) == 3 and (pid := _number(fields[0], 2**31)) != UNKNOWN:
            yield pid, fields[1], _number(fields[2], _MOST_MIB)


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines()[:_MOST_LINES]:
        yield [field.strip() for field in line.split(",")]


def _number(text: str, most: int) -> int:
    """The number; UNKNOWN for what nvidia-smi prints instead: `[N/A]`, `[Not Supported]`."""
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        return UNKNOWN
    return int(text) if int(text) <= most else UNKNOWN
