"""One command line tried: proposed, executed with stub programs, composed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tests.runs.presets_trial.arrival import (
    EXACT,
    MISSING,
    NOT_EXECUTED,
    NOT_REACHED,
    Arrival,
    arrival,
)
from tests.runs.presets_trial.commands import CommandLine
from tests.runs.presets_trial.composing import NOT_TRIED, Composed, compose_call
from tests.runs.presets_trial.proposing import Proposed, proposed
from tests.runs.presets_trial.sandbox import Call, Copy, Execution, Sandbox

# The message of bash for a variable that has to be set.
_REQUIRED = re.compile(
    r"line \d+: ([A-Za-z_]\w*): (?:unbound variable|.*\b(?:set|must|required|null)\b)"
)
_ABSENT = re.compile(r"line \d+: (/[\w./-]+): No such file or directory")
_MOST_NEEDED = 8


@dataclass
class Needed:
    """The needs of a script to reach its training line: variables and files."""

    env: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    def add(self, output: str) -> bool:
        """Adds what bash misses in its messages; whether there was anything new."""
        if len(self.env) + len(self.files) == _MOST_NEEDED:
            return False
        if (variable := _REQUIRED.search(output)) and variable[1] not in self.env:
            self.env[variable[1]] = f"/data/{variable[1].lower()}"
            return True
        if (file := _ABSENT.search(output)) and file[1] not in self.files:
            self.files.append(file[1])
            return True
        return False


@dataclass
class Result:
    """A row of the trial; `reasons` say what is wrong, one text per fault, `note` why something was not tried."""

    checkout: str
    command: str
    source: str
    framework: str = ""
    cause: str = ""
    outcomes: dict[str, int] = field(default_factory=dict)
    words: int = 0
    arrival: str = ""
    composed: str = ""
    wide_rows: int = 0
    note: str = ""
    reasons: list[str] = field(default_factory=list)


def tried(line: CommandLine, checkout: Path, sandbox: Sandbox | None) -> Result:
    """`sandbox` None: scripts are not executed."""
    made = proposed(line, checkout)
    result = Result(
        checkout.name,
        line.shown,
        line.source,
        made.framework,
        made.cause,
        made.outcomes,
        len(made.words),
        wide_rows=made.wide_rows,
    )
    if made.failure:
        result.cause = "traceback"
        result.reasons.append(f"traceback: {made.failure.strip().splitlines()[-1]}\n{made.failure}")
    if made.words:
        _arrive(result, made, line, checkout, sandbox)
    return result


def _arrive(
    result: Result, made: Proposed, line: CommandLine, checkout: Path, sandbox: Sandbox | None
) -> None:
    found = _arrival(made, line, checkout, sandbox)
    result.arrival = found.verdict
    if found.verdict == NOT_REACHED:
        result.note = found.reason
    elif found.verdict not in (EXACT, NOT_EXECUTED):
        result.reasons.append(f"words {found.verdict}: {found.reason}")
    if found.verdict in (EXACT, MISSING) and found.others:
        what = f"{len(found.others)} more calls of {made.target} get none of the words"
        result.reasons.append(f"some calls without words: {what}")
    composed = (
        compose_call(made.framework, found.call, made.words, checkout) if found.call else None
    )
    composed = composed or Composed(NOT_TRIED)
    result.composed = composed.verdict
    if composed.reason:
        result.reasons.append(f"composed {composed.verdict}: {composed.reason}")


def _arrival(made: Proposed, line: CommandLine, checkout: Path, sandbox: Sandbox | None) -> Arrival:
    """A command without script starts its program as it stands, so nothing has to be executed."""
    plan = made.plan
    if not is_script(line):
        call = Call(plan.command[0], plan.command[1:], plan.cwd, plan.env)
        return arrival(
            Execution((Call(line.words[0], line.words[1:], plan.cwd, {}),), 0, False, ""),
            Execution((call,), 0, False, ""),
            made.words,
            made.target,
            made.removed,
        )
    if sandbox is None:
        return Arrival(NOT_EXECUTED)
    before, needed = _executed(sandbox, line, checkout)
    env = {**needed.env, **plan.env}
    after = sandbox.run(checkout, plan.command, env, _copy(made, checkout), needed.files)
    variables = len(plan.env) - len(line.env)
    return arrival(before, after, made.words, made.target, made.removed, variables)


def _executed(sandbox: Sandbox, line: CommandLine, checkout: Path) -> tuple[Execution, Needed]:
    """The original command, with the variables and files that its script needs."""
    needed = Needed()
    found = sandbox.run(checkout, line.words, line.env)
    while needed.add(found.output):
        env = {**needed.env, **line.env}
        found = sandbox.run(checkout, line.words, env, None, needed.files)
    return found, needed


def is_script(line: CommandLine) -> bool:
    return line.words[0] in ("bash", "sh", "sbatch")


def _copy(made: Proposed, checkout: Path) -> Copy | None:
    if not made.plan.copy_text:
        return None
    inner = tuple(Copy(Path(copy.path), copy.text) for copy in made.plan.inner_copies)
    return Copy(checkout / made.plan.copy_of, made.plan.copy_text, inner)
