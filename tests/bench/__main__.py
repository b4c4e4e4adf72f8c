"""Measures all rows on Ray clusters of its own; `python -m tests.bench [--quick] [--lab | --runs | --hangs | --rollouts | --doctor] [--json FILE] [--editor JSON]`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from pathlib import Path

from eagleray.common.garbage import collect_seldom

from tests.bench import (
    added,
    burst,
    comparing,
    doctor,
    hangs,
    lab,
    polling,
    profiling,
    reports,
    runs,
    servers,
    sidecar,
    trajectories,
    waves,
    workers,
)
from tests.bench.rows import Row, at_most, table, write
from tests.lab.site import NoSite
from tests.ray_cluster import start_cluster, temporary_home


def main() -> None:
    options = arguments()
    # As the processes that are measured.
    collect_seldom()
    rows = editor(options.editor)
    samples = 3 if options.quick else 20
    if options.runs:
        rows += of_runs(samples)
    elif options.hangs:
        rows += map(told, hangs.rows(samples))
    elif options.rollouts:
        rows += of_rollouts(samples)
    elif options.doctor:
        rows += map(told, doctor.rows(samples))
    elif not options.lab:
        rows += here(samples, many=1_000 if options.quick else 10_000)
    try:
        rows += [] if is_part(options) else map(told, lab.rows(samples))
    except NoSite as error:
        print(f"not measured in the lab: {error}", flush=True)
    print("\n" + table(rows))
    if options.json:
        write(rows, options.json)


def is_part(options: argparse.Namespace) -> bool:
    """Whether only rows that need no lab are measured."""
    return bool(options.runs or options.hangs or options.rollouts or options.doctor)


def of_rollouts(samples: int) -> list[Row]:
    """Measures the cost of agents and rollouts."""
    parts = (comparing, trajectories, servers, waves)
    return [row for part in parts for row in map(told, part.rows(samples))]


def here(samples: int, many: int) -> list[Row]:
    """Measures what needs only this machine."""
    rows: list[Row] = list(map(told, burst.rows(min(samples, 5))))
    with temporary_home() as home, start_cluster() as cluster:
        # The adapter that the bench itself starts has to lie in that home too.
        os.environ["EAGLERAY_HOME"] = str(home)
        rows.append(told(sidecar.start(home, samples)))
        rows.append(told(asyncio.run(workers.pause_to_row(home, cluster, samples))))
    with temporary_home() as home, start_cluster() as cluster:
        os.environ["EAGLERAY_HOME"] = str(home)
        rows += map(told, asyncio.run(workers.attaching(home, cluster, samples)))
        rows += map(told, asyncio.run(sidecar.watching(home, cluster)))
        rows.append(told(asyncio.run(polling.flat(cluster, many, samples * 5))))
    rows += map(told, hangs.rows(samples))
    rows += map(told, doctor.rows(samples))
    return [*rows, *of_rollouts(samples), *of_runs(samples)]


def of_runs(samples: int) -> list[Row]:
    """Measures the cost of a run, and how soon it stops."""
    rows: list[Row] = []
    with temporary_home() as home:
        rows += map(told, added.around(home, samples))
    with temporary_home() as home, start_cluster() as cluster:
        os.environ["EAGLERAY_HOME"] = str(home)
        rows += map(told, asyncio.run(runs.reached(home, cluster, samples)))
        rows += map(told, asyncio.run(added.many(home, cluster, min(samples, 3))))
    pairs = min(samples, 10)
    rows += map(told, runs.matching(pairs))
    rows += map(told, runs.starting(pairs))
    rows += map(told, runs.costs(pairs))
    rows.append(told(profiling.nobody(pairs)))
    return [*rows, *map(told, reports.reading(samples))]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few samples, to see that it works")
    parser.add_argument("--lab", action="store_true", help="only what is measured in the lab")
    parser.add_argument("--runs", action="store_true", help="only what is measured of runs")
    parser.add_argument("--hangs", action="store_true", help="only what is measured of pictures")
    parser.add_argument("--rollouts", action="store_true", help="only what is measured of rollouts")
    parser.add_argument("--doctor", action="store_true", help="only what is measured of the doctor")
    parser.add_argument("--json", type=Path, help="where the table is kept")
    parser.add_argument("--editor", type=json.loads, default={}, help="what the editor measured")
    return parser.parse_args()


def editor(measured: dict[str, list[float]]) -> list[Row]:
    """Returns what was measured in the real editor and in a browser before."""
    goals = {
        "activation": ("extension, activation (ms)", 60),
        "bundle": ("extension, bundle (kB)", 500),
        "picture": ("page of a picture, 10,000 ranks in 300 classes (ms)", 200),
        "trajectories": ("page of trajectories, its first screen (ms)", 1000),
    }
    return [
        told(at_most(*goals[key][:1], values, goals[key][1])) for key, values in measured.items()
    ]


def told(row: Row) -> Row:
    ratio = "" if row.ratio is None else f", {row.ratio:.3f} of {row.peer:g}"
    print(f"{row.name}: {row.ours:g}{ratio}", flush=True)
    return row


if __name__ == "__main__":
    main()
