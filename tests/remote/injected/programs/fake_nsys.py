"""Stands for an nsys that does what FAKE_NSYS says: what comes out of the real one cannot be had at will."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

WHOLE = b"a whole report"


def option(name: str) -> str:
    start = f"--{name}="
    return next(word[len(start) :] for word in sys.argv if word.startswith(start))


def stop(way: str, output: Path) -> int:
    """Ends a recording: in most ways nsys says nothing of what has gone wrong, and returns 0."""
    report = Path(f"{output}.nsys-rep")
    elsewhere = Path(os.environ["TMPDIR"]) / "nsys-report-1f2e"
    if way == "whole":
        report.write_bytes(WHOLE)
    elif way == "elsewhere":
        Path(f"{elsewhere}.nsys-rep").write_bytes(WHOLE)
        print(f"Generated:\n    {elsewhere}.nsys-rep")
    elif way == "raw":
        Path(f"{elsewhere}.qdstrm").write_bytes(b"raw")
    elif way == "truncated":
        report.write_bytes(WHOLE[:5])
    elif way == "empty":
        report.touch()
    return 0


def export() -> int:
    if option("type") == "info":
        print("Unsupported export type option.", file=sys.stderr)
        return 1
    if Path(sys.argv[-1]).read_bytes() != WHOLE:
        print("Exportation error: Section Table Reference magic number mismatch.", file=sys.stderr)
        return 1
    Path(option("output")).write_text(f"tables, made with niceness {os.nice(0)}")
    return 0


def main() -> int:
    way, state = os.environ["FAKE_NSYS"], Path(os.environ["TMPDIR"]) / "output"
    if sys.argv[1] == "--version":
        print("NVIDIA Nsight Systems version 2031.1.2.3-abc")
        return 0
    if sys.argv[1] == "launch":
        command = sys.argv[next(n for n, word in enumerate(sys.argv[2:], 2) if word[0] != "-") :]
        return subprocess.call(command, env={**os.environ, "NSYS_PROFILING_SESSION_ID": "1"})
    if sys.argv[1] == "start":
        if way == "refuses":
            print("Illegal --sample argument 'x'.\n\n\nusage: nsys start [<args>]")
            return 1
        if way == "silent":
            time.sleep(600)
        state.write_text(option("output"))
        return 0
    if sys.argv[1] == "stop":
        return stop(way, Path(state.read_text()))
    return export()


if __name__ == "__main__":
    sys.exit(main())
