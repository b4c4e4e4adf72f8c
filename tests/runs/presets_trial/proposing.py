"""The debug run proposed for one command line, in this process, with the words that it adds."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from unittest import mock

from eagleray.cli.runs.proposal_text import print_proposal
from eagleray.common.errors import EaglerayError
from eagleray.runs.model import RunPlan, RunRequest
from eagleray.runs.planner import RunPreparation
from eagleray.runs.presets import analysis, placement, propose
from eagleray.runs.presets.analysis import ProgramAnalysis
from eagleray.runs.presets.debug_runs import DEBUG, DebugRuns
from eagleray.runs.presets.ended_processes import EndedProcesses
from eagleray.runs.presets.job_submission import Edit
from eagleray.runs.presets.placement import Placement
from eagleray.runs.presets.user_presets import OwnPresets

from tests.runs.presets_trial.commands import SCRIPTS, CommandLine

COLUMNS = 100
_NOW = datetime(2026, 11, 22, 18, 30, tzinfo=timezone.utc)
_NO_PRESETS = Path("/nonexistent/presets")
_OTHER_SCRIPT = re.compile(
    r"\b(?:bash|sh|sbatch|source|\.)\s+\S*(?:" + "|".join(SCRIPTS) + r")\b|\./\S+\.sh\b"
)


@dataclass
class Proposed:
    """The proposal; `cause` is why no framework was recognised, `failure` a traceback."""

    plan: RunPlan
    framework: str = ""
    version: str = ""
    cause: str = ""
    target: str = ""
    words: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    outcomes: dict[str, int] = field(default_factory=dict)
    wide_rows: int = 0
    failure: str = ""


def proposed(line: CommandLine, checkout: Path) -> Proposed:
    """The debug run with nothing answered, as `eagleray run --preset debug --dry-run` shows it."""
    plan = _plan(line, checkout)
    words: list[str] = []
    removed: list[str] = []
    try:
        facts = analysis.analyze(plan, plan.argv[0], _NOW)
        with _recorded(words, removed):
            made = DebugRuns(OwnPresets(_NO_PRESETS), lambda: _NOW).proposal(plan, DEBUG, {})
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            print_proposal(made)
    except EaglerayError as error:
        return Proposed(plan, cause=f"refused: {error.code}")
    except Exception:
        return Proposed(plan, failure=traceback.format_exc())
    return Proposed(
        plan=made.plan,
        framework=facts.recognised.table.framework if facts.recognised else "",
        version=made.framework_version,
        cause=cause(facts),
        target=facts.launch.target if facts.launch else "",
        words=tuple(words),
        removed=tuple(removed),
        outcomes=dict(Counter(change.outcome for change in made.changes)),
        wide_rows=_wide_rows(shown.getvalue()),
    )


def _plan(line: CommandLine, checkout: Path) -> RunPlan:
    async def unavailable(_: str) -> str:
        return ""

    asked = RunRequest(path="", args=tuple(line.words), cwd=str(checkout), env=dict(line.env))
    return asyncio.run(RunPreparation(unavailable, unavailable, unavailable).plan(asked))


@contextlib.contextmanager
def _recorded(words: list[str], removed: list[str]) -> Iterator[None]:
    """Collects the words that the proposal adds to the training line, and those that it removes."""
    placed = placement.placed

    def recording(
        plan: RunPlan,
        facts: ProgramAnalysis,
        place: Placement,
        added: Sequence[str],
        edits: Sequence[Edit],
        left_out: Sequence[EndedProcesses] = (),
    ) -> RunPlan:
        if place.kind != "nowhere":
            words.extend(added)
            removed.extend(edit.token.text for edit in edits if not edit.text)
        return placed(plan, facts, place, added, edits, left_out)

    with mock.patch.object(propose, "placed", recording):
        yield


def cause(facts: ProgramAnalysis) -> str:
    """Why no framework was recognised; "" if one was."""
    if facts.recognised:
        return "" if facts.recognised.in_range else "version not read"
    # The proposal's text about a program of a framework that doesn't train.
    if getattr(facts, "remark", ""):
        return "not a trainer"
    launch, script = facts.launch, facts.script
    if launch is None:
        text = script.text if script else ""
        if _OTHER_SCRIPT.search(text):
            return "starts another script"
        return "in a quoted text" if script and script.hidden else "no Python line"
    return "program of a framework" if facts.remark else "other program"


def _wide_rows(text: str) -> int:
    """The rows above the diff, whose lines are the script's own, that are wider than a terminal."""
    rows, _, _ = text.partition("\n--- ")
    return sum(len(row) > COLUMNS for row in rows.splitlines())
