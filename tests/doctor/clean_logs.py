"""False alarms on logs without trouble: `.venv/bin/python -m tests.doctor.clean_logs --seconds 30`.

Runs TorchTrainer, RLlib and the program of the demo, each on a Ray cluster of its own and for so many seconds, and diagnoses
their logs.  Errors, warnings and unknown errors are false alarms; the notes on the demo's paused workers aren't.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from attrs import frozen
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.rule_files import own_rules

from tests.ray_cluster import Program, RayCluster, start_cluster
from tests.shared_clusters import TORCH_PYTHON

# Libraries are imported first.
_STARTING_S = 240.0


@frozen
class CleanProgram:
    """A program within tests/programs; one that `ends` trains for the seconds given, the other is ended after them."""

    name: str
    path: str
    python: str
    ends: bool = True


PROGRAMS = (
    CleanProgram("TorchTrainer", "clean/torch_trainer.py", TORCH_PYTHON),
    CleanProgram("RLlib", "clean/cartpole.py", TORCH_PYTHON),
    CleanProgram("demo", "rl_training/train.py", sys.executable, ends=False),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", default="", help="the name of one program")
    arguments = parser.parse_args()
    alarms = 0
    for program in PROGRAMS:
        if arguments.only in ("", program.name):
            alarms += _alarms(program, arguments.seconds)
    return 1 if alarms else 0


def _alarms(program: CleanProgram, seconds: float) -> int:
    """How many false alarms its logs give, which are printed."""
    with start_cluster(python=program.python, num_cpus=4) as cluster:
        began = time.monotonic()
        started = _run(program, cluster, seconds)
        ran_s = time.monotonic() - began
        found = _diagnosis(cluster, started.log)
        started.end()
    alarms = false_alarms(found)
    print(
        f"{program.name}: {ran_s:.0f} s, {found.checked.files} logs, "
        f"{found.checked.bytes / 1e6:.2f} MB, false alarms: {len(alarms)}",
        *alarms,
        sep="\n  ",
        flush=True,
    )
    return len(alarms)


def _run(program: CleanProgram, cluster: RayCluster, seconds: float) -> Program:
    if not program.ends:
        started = cluster.run(program.path)
        cluster.wait_paused(1)
        time.sleep(seconds)
        return started
    started = cluster.run(program.path, str(cluster.folder), str(seconds))
    if started.wait(_STARTING_S + seconds) != 0 or "trained: " not in started.output():
        raise RuntimeError(f"{program.name} failed: {started.output()[-2000:]}")
    return started


def _diagnosis(cluster: RayCluster, log: Path) -> Diagnosis:
    (folder,) = cluster.folder.glob(f"**/{cluster.session}/logs")
    files, unchecked = list_logs([log, folder])
    return diagnose(files, own_rules(), unchecked)


def false_alarms(found: Diagnosis) -> list[str]:
    """Causes that aren't notes, and unknown errors, each with its first line."""
    causes = [cause for cause in found.causes if cause.severity != "info"]
    lines = [(cause.id, cause.evidence[0]) for cause in causes]
    lines += [("unknown", item) for item in found.unknown]
    return [f"{id}: {item.path}:{item.line} {item.text}" for id, item in lines]


if __name__ == "__main__":
    sys.exit(main())
