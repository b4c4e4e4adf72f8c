"""Reports that a real nsys records of a real program, and its own tables of them."""

from __future__ import annotations

import csv
import io
import subprocess
from pathlib import Path

import psutil

from tests.remote.injected.real_nsys import FOLDER, real_nsys

PROGRAM = Path(__file__).parent / "programs" / "ranges.c"


def compiled(folder: Path, program: Path = PROGRAM) -> Path:
    """The program; nsys brings the headers of NVTX along."""
    (header,) = FOLDER.glob("root/usr/lib/*/nsight-systems/target-*/nvtx/include")
    made = folder / program.stem
    command = ["gcc", "-O1", f"-I{header}", str(program), "-o", str(made), "-ldl", "-lpthread"]
    subprocess.run(command, check=True, timeout=120)
    return made


def record(folder: Path, steps: int, sleep_us: int, trace: str = "nvtx,osrt", *more: str) -> Path:
    """Blocks until nsys has written the report; without sleep each step is two ranges and a call of `write`."""
    nsys, report = real_nsys(), folder / "recorded.nsys-rep"
    options = [f"--trace={trace}", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true"]
    program = [str(compiled(folder)), str(steps), str(sleep_us)]
    command = [nsys, "profile", *options, *more, "-o", str(report), *program]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        printed, _ = process.communicate(timeout=600)
    if process.returncode:
        _end_agent(process.pid)
    assert process.returncode == 0 and report.exists(), printed
    return report


def _end_agent(pid: int) -> None:
    """The agent of an `nsys profile` that has failed; it is in a session of its own and stays (2022.4.2)."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or ()
        if "--start-agent" in words and any(word.endswith(f"-{pid}") for word in words):
            process.kill()


def stats(file: Path, *tables: str) -> list[list[dict[str, str]]]:
    """Returns the output of `nsys stats`: for each table its rows by the titles of nsys."""
    command = ["stats", "--report", ",".join(tables), "--format", "csv", str(file)]
    done = subprocess.run(
        [real_nsys(), *command], check=True, timeout=600, capture_output=True, text=True
    )
    parts = [part.strip() for part in done.stdout.split("\n\n")]
    wanted = [part[part.index("Time (%)") :] for part in parts if "Time (%)" in part]
    return [list(csv.DictReader(io.StringIO(part))) for part in wanted]
