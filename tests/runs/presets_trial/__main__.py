"""Tries debug runs on the example scripts of frameworks: `python -m tests.runs.presets_trial --repositories DIR`.

Each command line is proposed a debug run, executed with stub programs in a sandbox, and composed where the framework's
configuration can be loaded without torch.  Exit code 1 means that some of them fail.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

from tests.runs.presets_trial import sandbox, tables
from tests.runs.presets_trial.commands import CommandLine, checkouts, command_lines, sample
from tests.runs.presets_trial.sandbox import Sandbox
from tests.runs.presets_trial.trial import Result, tried

_NICE = 10


def main() -> int:
    options = arguments()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.nice(_NICE)
    # The sandbox's folder is removed also when this process is told to end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    found = checkouts(options.repositories, options.only)
    if not found:
        print(f"There is no checkout in {options.repositories}.")
        return 2
    without = "scripts are not executed (--no-execute)" if options.no_execute else sandbox.why_not()
    if without:
        print(f"Not executed: {without}")
    results = list(_results(found, options, None if without else Sandbox()))
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1))
    print(tables.counts(results), *tables.failures(results), sep="\n")
    failed = sum(bool(result.reasons) for result in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--repositories", type=Path, required=True, help="a checkout, or a folder of checkouts"
    )
    parser.add_argument("--only", action="append", default=[], help="only this checkout")
    parser.add_argument("--sample", type=int, default=0, help="so many command lines of each")
    parser.add_argument(
        "--configurations",
        type=int,
        default=8,
        help="of a script that takes the name of a configuration, so many of them, 0 for all (default: 8)",
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-execute", action="store_true", help="propose and compose only")
    parser.add_argument("--json", type=Path, help="where the rows are kept")
    return parser.parse_args()


def _results(
    found: list[Path], options: argparse.Namespace, box: Sandbox | None
) -> Iterator[Result]:
    try:
        with ProcessPoolExecutor(options.processes) as pool:
            for checkout in found:
                begun = time.monotonic()
                lines = sample(command_lines(checkout, options.configurations), options.sample)
                size = max(1, min(8, len(lines) // (2 * options.processes)))
                jobs = [(line, checkout.resolve(), box) for line in lines]
                results = list(pool.map(_tried, jobs, chunksize=size))
                took = time.monotonic() - begun
                print(f"{checkout.name}: {len(lines)} in {took:.0f} s", file=sys.stderr, flush=True)
                yield from results
    finally:
        if box is not None:
            box.close()


def _tried(job: tuple[CommandLine, Path, Sandbox | None]) -> Result:
    return tried(*job)


if __name__ == "__main__":
    sys.exit(main())
