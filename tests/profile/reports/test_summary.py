"""The numbers of a report against brute force, and the known sums of a large one."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.profile.reports import aggregates, ranges, summary
from eagleray.profile.reports.database import ReadLimits
from eagleray.profile.reports.gpu import STEPS
from eagleray.profile.reports.model import Summary, TableId
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.profile.reports import brute_force
from tests.profile.reports.databases import (
    PID,
    START_END,
    Call,
    Copy,
    Kernel,
    Memset,
    Range,
    Recording,
    write,
)
from tests.profile.reports.large import REDUCTION, Steps

TIMES = st.integers(0, 400)
KERNELS = st.builds(
    lambda start, length, name, device: Kernel(start, start + length, name, device),
    TIMES,
    st.integers(1, 60),
    st.sampled_from(["gemm", "softmax", "ncclDevKernel_AllReduce"]),
    st.integers(0, 2),
)
RANGES = st.builds(
    lambda start, length, name, kind, registered: Range(
        start, None if length is None else start + length, name, kind, registered
    ),
    TIMES,
    st.one_of(st.integers(0, 300), st.none()),
    st.sampled_from(["step", "forward", "backward"]),
    st.sampled_from([59, START_END]),
    st.booleans(),
)


@pytest.fixture(scope="module", autouse=True)
def in_many_parts() -> Iterator[None]:
    """As large recordings are read: what is summed up of one part is met by the next one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregates, "ROWS_PER_PART", 7)
        yield


def read(recording: Recording, trace: str = "") -> Summary:
    with tempfile.TemporaryDirectory() as folder:
        return summary.read(write(Path(folder, "r.sqlite"), recording), trace, ReadLimits())


def rows(result: Summary, name: TableId) -> list[dict[str, Any]]:
    """The rows of a table by the ids of its columns."""
    return [
        dict(zip([column.id for column in table.shape.columns], row, strict=True))
        for table in result.tables
        if table.name == name
        for row in table.rows
    ]


@given(st.lists(KERNELS, min_size=1, max_size=40), st.booleans())
@settings(max_examples=60)
def test_gpu_usage_equals_brute_force(kernels: list[Kernel], ordered: bool) -> None:
    recording = sorted(kernels, key=lambda item: item.start) if ordered else kernels
    result = read(Recording(kernels=recording))
    assert [gpu.id for gpu in result.gpus] == sorted({kernel.device for kernel in kernels})
    for gpu in result.gpus:
        others = [kernel for kernel in kernels if not kernel.name.startswith("nccl")]
        reductions = [kernel for kernel in kernels if kernel.name.startswith("nccl")]
        running = brute_force.busy(kernels, gpu.id)
        nccl = brute_force.busy(reductions, gpu.id)
        assert gpu.busy_ns == len(running)
        assert gpu.busy_ns + gpu.idle_ns == gpu.end_ns - gpu.begin_ns
        assert gpu.nccl_ns == len(nccl)
        assert gpu.nccl_alone_ns == len(nccl - brute_force.busy(others, gpu.id))
        expected = brute_force.gaps(kernels, gpu.id)
        gaps = [(r["begin"], r["duration"]) for r in rows(result, "gaps") if r["gpu"] == gpu.id]
        assert sorted(gaps, key=lambda gap: (-gap[1], gap[0])) == expected
        span = gpu.end_ns - gpu.begin_ns
        assert abs(sum(gpu.curve) * span / STEPS - gpu.busy_ns) <= 0.001 * span


@given(st.lists(RANGES, max_size=30), st.lists(KERNELS, min_size=2, max_size=12))
@settings(max_examples=60)
def test_ranges_and_gaps_equal_brute_force(ranges: list[Range], kernels: list[Kernel]) -> None:
    result = read(Recording(ranges=ranges, kernels=kernels))
    last = max((range_.start if range_.end is None else range_.end for range_ in ranges), default=0)
    expected = brute_force.by_name(ranges, last)
    by_name = {
        row["range"]: (row["count"], row["total"], row["p50"], row["max"])
        for row in rows(result, "nvtx")
    }
    assert by_name == expected
    lengths = {range_.name: set[int]() for range_ in ranges}
    for item in ranges:
        lengths[item.name].add((last if item.end is None else item.end) - item.start)
    for gap in rows(result, "gaps"):
        shortest = brute_force.around(ranges, gap["begin"], gap["duration"])
        assert (gap["range"] == "") is (shortest is None)
        assert shortest is None or shortest in lengths[gap["range"]]


@given(st.lists(KERNELS, min_size=1, max_size=40))
@settings(max_examples=30)
def test_kernels_are_summed_by_name(kernels: list[Kernel]) -> None:
    by_name = {row["kernel"]: row for row in rows(read(Recording(kernels=kernels)), "kernels")}
    assert set(by_name) == {kernel.name for kernel in kernels}
    for name, row in by_name.items():
        times = [kernel.end - kernel.start for kernel in kernels if kernel.name == name]
        assert (row["count"], row["total"]) == (len(times), sum(times))
        assert (row["min"], row["max"]) == (min(times), max(times))


def test_large_recording_has_the_expected_sums() -> None:
    recording = Steps(count=60, kernels=100, gpus=2)
    result = read(recording.recording())
    span = 59 * recording.step_ns + recording.compute_ns + 100_000
    holes = 60 * recording.holes_ns + 59 * 100_000
    assert [(gpu.busy_ns, gpu.idle_ns, gpu.kernels) for gpu in result.gpus] == [
        (span - holes, holes, 6000)
    ] * 2
    assert [(gpu.nccl_ns, gpu.nccl_alone_ns) for gpu in result.gpus] == [(6_000_000, 6_000_000)] * 2
    gaps = rows(result, "gaps")[:118]
    assert {(gap["duration"], gap["range"]) for gap in gaps} == {(100_000, "all_reduce")}
    (forward,) = [row for row in rows(result, "nvtx") if row["range"] == "forward"]
    assert (forward["count"], forward["p50"]) == (60, recording.compute_ns)
    (reduction,) = [row for row in rows(result, "kernels") if row["kernel"] == REDUCTION]
    assert (reduction["count"], reduction["total"]) == (120, 12_000_000)
    (copy,) = rows(result, "memcpy")
    assert (copy["copy"], copy["bytes"]) == ("Host-to-Device", 60 * 4096)
    assert result.warnings == ()


def test_tables_with_gaps_in_rowids_are_read_completely(tmp_path: Path) -> None:
    recording = Recording(
        kernels=[Kernel(10 * n, 10 * n + 8) for n in range(60)],
        ranges=[Range(0, 100 + n, "step") for n in range(60)],
        osrt=[Call(0, 10, "read") for _ in range(60)],
    )
    path = write(tmp_path / "r.sqlite", recording)
    connection = sqlite3.connect(path)
    for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS", "OSRT_API"):
        connection.execute(f"DELETE FROM {table} WHERE rowid % 3 = 0")
        connection.execute(f"UPDATE {table} SET rowid = -1000000007 * rowid WHERE rowid % 2 = 0")
    connection.commit()
    connection.close()
    result = summary.read(path, "", ReadLimits())
    (gpu,) = result.gpus
    assert (gpu.kernels, gpu.busy_ns) == (40, 40 * 8)
    assert [rows(result, name)[0]["count"] for name in ("kernels", "nvtx", "osrt")] == [40] * 3
    assert max(gap["duration"] for gap in rows(result, "gaps")) == 12


def test_too_many_names_leave_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "MOST_NAMES", 50)
    monkeypatch.setattr(ranges, "MOST_ROWS", 5)
    every = [Range(0, 10 + n, f"stage {n}", domain=n % 2) for n in range(200)]
    every += [Range(n, n + 40 + n, "forward", registered=True, tid=9) for n in range(21)]
    every += [Range(500, None, "stage 199", domain=1), Range(501, None, "stage 7")]
    result = read(Recording(ranges=every, domains={1: "model"}))
    by_name = {row["range"]: (row["count"], row["p50"]) for row in rows(result, "nvtx")}
    assert by_name == {
        "forward": (21, 50),
        "model:stage 199": (2, (209 + 1) // 2),
        **{f"{'model:' * (n % 2)}stage {n}": (1, 10 + n) for n in (198, 197, 196)},
    }
    (table,) = [table for table in result.tables if table.name == "nvtx"]
    assert table.total == 202
    assert table.note.endswith("Only the first 5 of 202 rows are kept.")
    assert {row["tid"]: row["ranges"] for row in rows(result, "threads")} == {PID: 202, 9: 21}


TORCH = [
    *(f"aten::add, seq = {n}, op_id = {300_000 + n}, sizes = [[2, {n}], []]" for n in range(40)),
    *(
        f"aten::add, op_id = {n}, sizes = [[4, 4096]], input_op_ids = [({n},0), (7,1)]"
        for n in range(9)
    ),
    "aten::add, op_id = 7, sizes = [[4, 40",
    "aten::add",
]


@pytest.mark.parametrize("registered", [True, False])
def test_names_that_differ_in_a_parameter_are_one_row(registered: bool) -> None:
    called = [*TORCH, *(f"step {n}" for n in range(5)), "iteration 7"]
    called += [f"layer {n % 3} microbatch {n}" for n in range(6)]
    called += [f"layers.{n}.mlp" for n in range(80)] + [f"decode batch {n}" for n in range(600)]
    every = [Range(0, 10, name, registered=registered) for name in called]
    result = read(Recording(ranges=every))
    by_name = {row["range"]: (row["count"], row["names"]) for row in rows(result, "nvtx")}
    layers = {f"layers.{n}.mlp": (1, 1) for n in range(80)}
    assert by_name == {
        "aten::add": (51, 51),
        "step *": (5, 5),
        "iteration 7": (1, 1),
        **{f"layer {n} microbatch *": (2, 2) for n in range(3)},
        **layers,
        "decode batch *": (600, 600),
    }
    assert {row["range"] for row in rows(result, "nvtx_names")} == set(called)


def test_group_counts_all_names_where_too_many_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "MOST_NAMES", 50)
    monkeypatch.setattr(ranges, "MOST_ROWS", 5)
    every = [Range(0, 10 + n, f"aten::mm, op_id = {n}") for n in range(300)]
    result = read(Recording(ranges=[*every, Range(300, None, "aten::mm, op_id = 9")]))
    (row,) = rows(result, "nvtx")
    assert (row["range"], row["count"], row["names"]) == ("aten::mm", 301, 300)
    names = rows(result, "nvtx_names")
    assert names[0]["range"] == "aten::mm, op_id = 299"
    assert len(names) == 5


def test_calls_are_summed_by_name_and_thread() -> None:
    recording = Recording(
        osrt=[Call(0, 10, "read", 1), Call(20, 25, "read", 2), Call(30, 90, "poll", 2)],
        cuda=[Call(0, 7, "cudaLaunchKernel_v7000", 1)],
        ranges=[Range(0, 5, "step", tid=1)],
        threads={1: "main", 9: "of another process"},
    )
    result = read(recording)
    assert [(r["call"], r["count"], r["total"]) for r in rows(result, "osrt")] == [
        ("poll", 1, 60),
        ("read", 2, 15),
    ]
    assert [r["call"] for r in rows(result, "cuda_api")] == ["cudaLaunchKernel_v7000"]
    threads = {(r["thread"], r["tid"]): r for r in rows(result, "threads")}
    assert set(threads) == {("main", 1), ("", 2)}
    assert threads["main", 1]["calls"] == 2
    assert (threads["main", 1]["osrt"], threads["main", 1]["cuda"]) == (10, 7)
    assert threads["main", 1]["ranges"] == 1


def test_range_has_its_domain_and_explains_only_gaps_of_its_process() -> None:
    kernels = [Kernel(0, 10), Kernel(90, 100)]
    ranges = [
        Range(5, 95, "of another process", pid=99),
        Range(0, 100, "forward", domain=3, registered=True),
    ]
    result = read(Recording(kernels=kernels, ranges=ranges, domains={3: "model"}))
    assert {row["range"] for row in rows(result, "nvtx")} == {"model:forward", "of another process"}
    assert [(gap["range"], gap["next"]) for gap in rows(result, "gaps")] == [
        ("model:forward", "gemm")
    ]


def test_metadata_names_host_and_time() -> None:
    about = read(Recording(osrt=[Call(0, 1, "read")], end=5_000)).about
    assert (about.host, about.duration, about.nsys_version) == ("node-7", 5_000, "2026.2.1.90")
    assert about.started_utc == "2026-11-21T22:01:40.642Z"
    assert about.schema_version == "3.25.0"


def test_copies_are_summed_by_kind() -> None:
    copies = [Copy(0, 10, 100, 2), Copy(10, 20, 300, 2), Copy(0, 1, 5, 77)]
    result = read(Recording(copies=copies, sets=[Memset(0, 2, 8)]))
    assert [(r["copy"], r["count"], r["bytes"], r["rate"]) for r in rows(result, "memcpy")] == [
        ("Device-to-Host", 2, 400, 20_000_000_000),
        ("Memset", 1, 8, 4_000_000_000),
        ("Kind 77", 1, 5, 5_000_000_000),
    ]
