"""Writes a small report with every table, for the page: `python -m tests.profile.reports.page_report FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.profile.reports.databases import Call, Copy, Kernel, Range, Recording, write

MS = 1_000_000
# Names that a program may give a range: markup, a formula, an escape, a turn of the reading direction.
HOSTILE = '=<img src=x onerror="alert(1)">[a](command:x)\x1b[1m\u202e $(trash)'
STEPS, KERNELS = 40, 60


def recording() -> Recording:
    """Steps of 50 ms: some kernels, an all-reduce, a copy, and then 15 ms in which the GPU waits."""
    kernels, ranges, copies, calls = [], [], [], []
    for step in range(STEPS):
        begin = step * 50 * MS
        ranges += [Range(begin, begin + 50 * MS, f"step {step}")]
        ranges += [Range(begin, begin + 30 * MS, "forward"), Range(begin, begin + MS, HOSTILE)]
        for number in range(KERNELS):
            start = begin + number * MS // 2
            kernels.append(Kernel(start, start + MS // 2, f"void gemm_{number}<float>(float*)"))
        start = begin + 30 * MS
        kernels.append(Kernel(start, start + 5 * MS, "ncclDevKernel_AllReduce_Sum_f32(void)"))
        copies.append(Copy(start, start + MS, 64 << 20))
        calls.append(Call(begin + 36 * MS, begin + 49 * MS, "pthread_cond_wait"))
    return Recording(
        kernels=kernels,
        copies=copies,
        osrt=calls,
        cuda=[Call(0, MS, "cudaLaunchKernel_v7000")],
        ranges=ranges,
        threads={4711: "python"},
        gpus={0: "NVIDIA H200"},
        end=STEPS * 50 * MS,
    )


def main() -> None:
    folder = Path(sys.argv[1])
    # The report itself is not read where the database that nsys makes of it lies beside it and is newer.
    (folder / "policy.nsys-rep").write_bytes(b"a report")
    write(folder / "policy.sqlite", recording())
    (folder / "empty.nsys-rep").write_bytes(b"")


if __name__ == "__main__":
    main()
