"""Records of a diagnosis: rules, evidence, causes, and what was checked; the JSON of `eagleray doctor` has their fields."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@frozen
class Rule:
    """A sign of trouble in a line of a log.

    `pattern` is a regular expression for a part of one line, `literals` the texts of which each match has at least one.
    `meaning` and `fix` are texts with the pattern's named groups as `{name}`.  A `follows` rule is usually the
    consequence of an earlier failure.  `settings` has the change for a framework by its name, such as `verl`.
    `source` says where the rule comes from (repository, version, issue); `examples` are lines that match,
    `counterexamples` lines that don't.
    """

    id: str
    pattern: str
    meaning: str
    fix: str
    source: str
    severity: Severity = "error"
    follows: bool = False
    settings: dict[str, str] = field(factory=dict)
    examples: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()


@frozen
class DiagnosisTarget:
    """What is diagnosed: log files and folders of this machine, the output of a run by its ID, or all nodes of a cluster
    (its ID or address) or of a job of SLURM, with logs as far as they can be read.
    """

    paths: tuple[str, ...] = ()
    run_id: str = ""
    cluster: str = ""
    slurm_job: str = ""


@frozen
class LogEvidence:
    """A line of a log, without secrets and control characters: `line` is its number from 1, `time` in seconds since 1970.

    `worker` is as Ray prefixes it ("WorkerDict pid=29197"), `node` its address; `repeats` counts what Ray has folded.
    """

    path: str
    line: int
    text: str
    time: float | None = None
    node: str = ""
    worker: str = ""
    repeats: int = 1


@frozen
class Cause:
    """What a rule has matched: the earliest lines of each file first, of `count` lines in `files` files.

    `secondary`: it follows from an earlier cause.
    """

    id: str
    sentence: str
    fix: str
    evidence: tuple[LogEvidence, ...]
    secondary: bool
    severity: Severity
    count: int
    files: int
    source: str
    settings: dict[str, str] = field(factory=dict)


@frozen
class UncheckedFile:
    """A file that was not read, and why."""

    path: str
    reason: str


@frozen
class Checked:
    """What was read: number of files and bytes, the rules, and files that were not read."""

    files: int
    bytes: int
    rules: int
    unchecked: tuple[UncheckedFile, ...] = ()


@frozen
class Diagnosis:
    """The earliest cause first; `unknown` are errors that no rule explains, the earliest first."""

    sentence: str
    causes: tuple[Cause, ...]
    unknown: tuple[LogEvidence, ...]
    checked: Checked
