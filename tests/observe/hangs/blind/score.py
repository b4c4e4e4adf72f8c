"""The score of `eagleray stacks` on the programs of this folder: which verdict each gets, and which it should get."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.observe.hangs.blind.harness import TABLE, Run

REPOSITORY = Path(__file__).parents[4]
COMMAND = (sys.executable, str(REPOSITORY / "pybackend" / "eagleray_start.py"), "cli", "stacks")
LIMIT_S = 200
UNKNOWN = "unknown"
# The right verdicts on a program that works; the second one claims nothing.
WORKS = ("slow", UNKNOWN)


@dataclass(frozen=True)
class Score:
    """The verdict on one program; `expected` is the right kind, "" for a program that works.

    `is_tolerable`: a reader could also call it so, which doesn't count as right.
    """

    name: str
    expected: str
    kind: str
    culprits: str
    confidence: float
    sentence: str
    seconds: float
    is_right: bool
    are_culprits_right: bool
    is_tolerable: bool

    @property
    def is_unknown(self) -> bool:
        return self.kind == UNKNOWN and not self.is_right

    def line(self) -> str:
        word = "right" if self.is_right else "unknown" if self.is_unknown else "WRONG"
        culprits = (
            "" if self.are_culprits_right else f", other culprits than {self.culprits or 'none'}"
        )
        return f"{self.name}: {word} ({self.kind} {self.confidence:.0%}{culprits})"


def score(name: str) -> Score:
    """Starts the program, takes its picture as a user would, and ends it."""
    row, start = TABLE[name], time.monotonic()
    # The clusters of the programs have no tokens.
    env = {"RAY_AUTH_MODE": "disabled"} if row["needs"] == "ray" else {}
    with Run(name, env=env) as run:
        run.wait_ready()
        verdict = verdict_on(target_of(row, run.report()))
    kind, culprits = str(verdict["kind"]), str(verdict["culprits"])
    return Score(
        name,
        row["kind"] or "",
        kind,
        culprits,
        float(verdict["confidence"]),
        str(verdict["sentence"]),
        round(time.monotonic() - start, 1),
        kind == row["kind"] if row["kind"] else kind in WORKS,
        culprits in (row["culprits"], *row.get("accept", ())),
        kind in row.get("also", ()),
    )


def target_of(row: dict[str, Any], report: dict[str, Any]) -> list[str]:
    if row["needs"] == "ray":
        return ["--cluster", str(report["dashboard"])]
    pids = report["pids"]
    return ["--pids", *map(str, pids.values() if isinstance(pids, dict) else pids)]


def verdict_on(target: Sequence[str]) -> dict[str, Any]:
    """Returns the verdict that the command prints; a failure of the command is a verdict of its own kind, and so wrong."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [*COMMAND, "--json", *target],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            cwd=home,
            env={**os.environ, "EAGLERAY_HOME": home},
        )
    if done.returncode:
        return {"kind": "failed", "culprits": "", "confidence": 0, "sentence": done.stderr[-300:]}
    verdict: dict[str, Any] = json.loads(done.stdout)["verdict"]
    return verdict


def summary(scores: Iterable[Score]) -> str:
    listed = list(scores)
    right = [each for each in listed if each.is_right]
    complete = [each for each in right if each.are_culprits_right]
    unknown = [each for each in listed if each.is_unknown]
    wrong = len(listed) - len(right) - len(unknown)
    return (
        f"{len(right)} of {len(listed)} kinds right, {len(complete)} with the right culprits;"
        f" {len(unknown)} unknown, {wrong} wrong"
    )
