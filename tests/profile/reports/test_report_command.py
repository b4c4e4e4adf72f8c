"""The summary as the command prints it and as the editor gets it."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from attrs import evolve
from eagleray.app import Settings
from eagleray.cli.json_schemas import json_schema
from eagleray.profile.reports import messages
from eagleray.profile.reports.handlers import FIRST_ROWS, ReportHandlers
from eagleray.profile.reports.reports import Reports
from eagleray.sidecar.features import build_server
from eagleray.wire.requests import Wire

from tests.asked import eagleray
from tests.profile.reports import fake_nsys
from tests.profile.reports.databases import Copy, Kernel, Range, Recording, write

MS = 1_000_000
SOME = Recording(
    kernels=[
        Kernel(0, 40 * MS, "void gemm<float>(float*)"),
        Kernel(60 * MS, 90 * MS, "ncclDevKernel_AllReduce(void)"),
        Kernel(95 * MS, 100 * MS, "=softmax|x"),
    ],
    copies=[Copy(0, MS, 25_000_000)],
    ranges=[Range(0, 100 * MS, "step"), Range(35 * MS, 65 * MS, "data loader")],
    gpus={0: "NVIDIA H100"},
    end=120 * MS,
)
TEXT = """\
report.sqlite
  node-7 · 2026-11-21 22:01:40.642 UTC · 120.000 ms · <size> · nsys 2026.2.1.90 · schema 3.25.0

GPUs
  GPU  Name         Kernels    Busy  Busy time  Idle time       NCCL  NCCL alone
  0    NVIDIA H100        3  75.0 %  75.000 ms  25.000 ms  30.000 ms   30.000 ms

Kernels (1 of 3)
  Kernel                    Count      Total   Share    Average        Min        Max
  void gemm<float>(float*)      1  40.000 ms  53.3 %  40.000 ms  40.000 ms  40.000 ms

NVTX ranges (1 of 2)
  Sums over all threads. A total can exceed the duration.
  NVTX range  Kind      Count  Names       Total     Average         p50         Min         Max
  step        push/pop      1      1  100.000 ms  100.000 ms  100.000 ms  100.000 ms  100.000 ms

Idle gaps (1 of 2)
  GPU      Begin       Idle  NVTX range   Next kernel
  0    40.000 ms  20.000 ms  data loader  ncclDevKernel_AllReduce(void)

Memory copies (1)
  Copy            Count      Bytes     Total         Rate       Max
  Host-to-Device      1  25.000 MB  1.000 ms  25.000 GB/s  1.000 ms

Threads (1)
  Thread  PID   TID   Calls  OS runtime  CUDA API  NVTX ranges
          4711  4711      –           –         –            2
"""


def silent(_: str, percentage: int | None = None) -> None:
    """Ignores progress."""


@pytest.fixture
def database(tmp_path: Path, own_home: Path) -> str:
    return str(write(tmp_path / "report.sqlite", SOME))


async def test_command_prints_aligned_tables(database: str) -> None:
    size = f"{Path(database).stat().st_size / 1000:.3f} kB"
    out = (await eagleray("report", database, "--top", "1")).out
    assert out.replace(size, "<size>") == TEXT


async def test_command_prints_markdown_and_csv(database: str) -> None:
    markdown = (await eagleray("report", database, "--markdown", "--search", "softmax")).out
    assert r"| =softmax\|x | 1 | 5.000 ms |" in markdown
    assert "Memory copies" not in markdown
    assert (
        "No row has “nowhere”." in (await eagleray("report", database, "--search", "nowhere")).err
    )
    nothing = await eagleray("report", database, "--csv", "kernels", "--search", "nowhere")
    assert nothing.out.startswith("kernel,count,") and nothing.out.count("\n") == 1
    table = (await eagleray("report", database, "--csv", "kernels", "--sort", "kernel")).out
    read = list(csv.DictReader(io.StringIO(table)))
    assert [row["kernel"] for row in read] == [
        "void gemm<float>(float*)",
        "ncclDevKernel_AllReduce(void)",
        "'=softmax|x",
    ]
    assert read[1]["total_ns"] == str(30 * MS)
    gpus = (await eagleray("report", database, "--csv", "gpus")).out
    assert gpus.splitlines()[1].startswith("0,NVIDIA H100,3,0.75,75000000,25000000,")
    assert (await eagleray("report", database, "--csv", "osrt")).out.count("\n") == 1


async def test_editor_copies_what_the_command_prints(database: str, tmp_path: Path) -> None:
    handlers = ReportHandlers(Reports(lambda: tmp_path))
    every = await handlers.report_text(messages.ReportRequest(database), silent)
    printed = await eagleray("report", database, "--markdown", "--top", str(FIRST_ROWS))
    assert every.text == printed.out
    request = messages.TableTextRequest(database, "kernels", "csv", "kernel", False, "L")
    table = await handlers.table_text(request, silent)
    arguments = ("--csv", "kernels", "--sort", "kernel", "--ascending", "--search", "L")
    assert table.text == (await eagleray("report", database, *arguments)).out
    assert (table.title, table.rows, table.total) == ("Kernels", 2, 2)
    marked = (await handlers.table_text(evolve(request, format="markdown"), silent)).text
    assert marked.splitlines()[0].startswith("| Kernel | Count | Total |")
    assert [line[:9] for line in marked.splitlines()[2:]] == ["| ncclDev", "| void ge"]


async def test_json_equals_the_response_for_the_editor(database: str, tmp_path: Path) -> None:
    handlers = ReportHandlers(Reports(lambda: tmp_path))
    wire = await handlers.report(messages.ReportRequest(database), silent)
    assert (await eagleray("report", database, "--json", "--top", "100")).json == {
        "version": 1,
        **Wire().plain(wire),
    }
    jsonschema.validate((await eagleray("report", database, "--json")).json, json_schema("report"))
    assert [gpu.busy_share for gpu in wire.gpus] == [0.75]
    assert json.loads(json.dumps(Wire().plain(wire)))["tables"][0]["id"] == "kernels"


async def test_editor_gets_first_rows_and_requests_others(tmp_path: Path, own_home: Path) -> None:
    many = Recording(ranges=[Range(0, n + 1, f"stage {n}") for n in range(300)])
    file = str(write(tmp_path / "many.sqlite", many))
    handlers = ReportHandlers(Reports(lambda: tmp_path))
    report = await handlers.report(messages.ReportRequest(file), silent)
    (nvtx,) = [table for table in report.tables if table.id == "nvtx"]
    assert (len(nvtx.rows), nvtx.total) == (FIRST_ROWS, 300)
    request = messages.TableRequest(
        file, "nvtx", "max", descending=False, search="STAGE 2", limit=3
    )
    table = await handlers.table(request, silent)
    assert [row[0] for row in table.rows] == ["stage 2", "stage 20", "stage 21"]
    assert (table.total, table.sorted_by, table.descending) == (111, "max", False)


async def test_cancelled_request_ends_nsys(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAGLERAY_NSYS", str(fake_nsys.install(tmp_path / "tool", "hangs")))
    report = tmp_path / "r.nsys-rep"
    report.write_bytes(fake_nsys.report_bytes())
    requests = build_server(Settings(discovery="off", slurm="off"))
    started = asyncio.Event()

    def say(_: str, percentage: int | None = None) -> None:
        if percentage == 100:
            started.set()

    call = asyncio.create_task(requests.call(messages.REPORT.method, {"path": str(report)}, say))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await requests.stop()
    (line,) = fake_nsys.calls(tmp_path / "tool")
    assert not Path(f"/proc/{line.split()[0]}").exists()
    assert not report.with_suffix(".sqlite").exists()


async def test_command_explains_invalid_files(tmp_path: Path, own_home: Path) -> None:
    done = await eagleray("report", str(tmp_path / "nowhere.nsys-rep"))
    assert done.code == 1
    assert (
        done.err.startswith("eagleray: ")
        and "Can't read " in done.err
        and "No such file" in done.err
    )
    both = await eagleray("report", "x", "--json", "--markdown")
    assert both.code == 2
    assert "Use only one of" in both.err
    unknown = await eagleray("report", "x", "--sort", "name")
    assert unknown.code == 2
    assert "Unknown column “name”." in unknown.err


async def test_command_rejects_other_files(tmp_path: Path, own_home: Path) -> None:
    other = tmp_path / "passwd"
    other.write_text("root:x:0:0")
    done = await eagleray("report", str(other))
    assert (done.code, done.out) == (1, "")
    assert f"{other} is not an nsys report." in done.err


async def test_command_without_nsys_names_the_next_step(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAGLERAY_NSYS", os.devnull)
    report = tmp_path / "r.nsys-rep"
    report.write_bytes(fake_nsys.report_bytes())
    done = await eagleray("report", str(report))
    assert done.code == 1
    assert f"{os.devnull} is not a program" in done.err
    assert "nsys export --type sqlite" in done.err
