"""Works for hours as users do and tests whether anything grows: `python -m tests.soak [--hours N] [--json FILE]`."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from pathlib import Path

import psutil

from tests.ray_cluster import RayCluster, start_cluster
from tests.soak import sampling, verdict
from tests.soak.cycle import (
    Step,
    quiet,
    run_over_a_killed_adapter,
    steps_of,
    stop_everything,
    until,
)
from tests.soak.sampling import Sample
from tests.soak.site import Site, ended, site

# The adapter is killed so often; each of its lives is long enough to show a slope.
LIVES = 4
CPUS = 4


def main() -> None:
    options = arguments()
    # Started processes end with their owner, also when this process is told to end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="er-soak-", dir="/tmp"))
    try:
        with start_cluster(num_cpus=CPUS) as cluster:
            code = asyncio.run(soak(options, cluster, folder))
    finally:
        if options.keep is not None:
            shutil.copytree(folder, options.keep, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0, help="how long (default: 1)")
    parser.add_argument("--cycles", type=int, default=0, help="so many cycles instead")
    parser.add_argument("--json", type=Path, help="where samples and verdicts are kept")
    parser.add_argument("--keep", type=Path, help="a folder for the logs of the windows")
    return parser.parse_args()


async def soak(options: argparse.Namespace, cluster: RayCluster, folder: Path) -> int:
    samples: list[Sample] = []
    failed: list[str] = []
    taken = 0
    begun = time.monotonic()
    async with site(cluster, folder) as place:
        await place.until_cluster("connected")
        lives = 0
        cycle = 0
        while not is_over(options, begun, cycle):
            cycle += 1
            steps = steps_of(cycle)
            if share(options, begun, cycle) * LIVES > lives + 1:
                lives += 1
                steps.append(run_over_a_killed_adapter)
            for step in steps:
                taken += 1
                failed += await tried(place, step, cycle)
            failed += await tried(place, quiet, cycle)
            samples.append(await asyncio.to_thread(sampled, place, cycle, begun))
            print(progress(samples[-1], failed), flush=True)
            keep(options.json, samples, failed, [])
        failed += await tried(place, nothing_is_left, cycle)
    rows = verdict.rows(samples)
    keep(options.json, samples, failed, rows)
    return conclusion(rows, failed, taken, cycle)


def is_over(options: argparse.Namespace, begun: float, cycle: int) -> bool:
    return share(options, begun, cycle + 1) > 1


def share(options: argparse.Namespace, begun: float, cycle: int) -> float:
    """How much of the soak is done once this cycle is."""
    if options.cycles:
        return float(cycle / options.cycles)
    return (time.monotonic() - begun) / (3600 * float(options.hours))


async def tried(place: Site, step: Step, cycle: int) -> list[str]:
    """Returns what went wrong; the next step begins from rest either way."""
    try:
        await step(place)
    except Exception as error:
        what = f"cycle {cycle}, {step.__name__}: {error or repr(error)}"
        print(f"FAILED {what}\n{traceback.format_exc()}", flush=True)
        try:
            await stop_everything(place)
            await quiet(place)
        except Exception as again:
            print(f"FAILED to come to rest: {again!r}", flush=True)
        return [what]
    return []


def sampled(place: Site, cycle: int, begun: float) -> Sample:
    values: dict[str, float] = {}
    types, lives = {}, {}
    for role, pid in (("sidecar", place.window.pid), ("adapter", place.adapter_pid())):
        lives[role] = str(pid)
        if pid:
            found, types[role] = sampling.of_process(pid, place.probes)
            values |= {f"{role} {name}": value for name, value in found.items()}
    own = sampling.processes("EAGLERAY_HOME", str(place.home), lambda _: True)
    values["processes"] = float(len(own))
    values["debuggers"] = float(len(place.debuggers()))
    values |= sampling.of_folder(place.home, place.temporary)
    return Sample((time.monotonic() - begun) / 3600, cycle, lives, values, types)


async def nothing_is_left(place: Site) -> None:
    """After the last window the adapter ends too, and no temporary file stays."""
    await ended(place.window)
    own = sampling.processes("EAGLERAY_HOME", str(place.home), lambda _: True)
    await asyncio.to_thread(psutil.wait_procs, own, 60)
    left = [" ".join(one.cmdline()) for one in own if one.is_running()]
    assert not left, f"processes are left: {left}"
    await until("end of the debuggers", lambda: not place.debuggers())
    files = [str(path) for path in place.temporary.rglob("*") if "ray" not in path.parts[-1]]
    assert not files, f"temporary files are left: {files[:20]}"


def progress(sample: Sample, failed: list[str]) -> str:
    minutes = sample.hours * 60
    shown = " ".join(f"{name}={value:.0f}" for name, value in sample.values.items())
    return f"{minutes:.1f} min, cycle {sample.cycle}, {len(failed)} failed: {shown}"


def keep(
    file: Path | None, samples: list[Sample], failed: list[str], rows: list[verdict.Row]
) -> None:
    if file is not None:
        said = {"verdicts": verdict.plain(rows), "failed": failed}
        file.write_text(
            json.dumps({**said, "samples": [asdict(sample) for sample in samples]}, indent=1)
        )


def conclusion(rows: list[verdict.Row], failed: list[str], taken: int, cycles: int) -> int:
    print(f"\n{cycles} cycles, {taken} steps\n{verdict.table(rows)}\n")
    for what in failed:
        print(f"FAILED {what}")
    wrong = len(failed) + sum(not row.passed for row in rows)
    print(f"{taken + len(rows) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    main()
