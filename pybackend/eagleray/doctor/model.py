"""Records of a diagnosis: rules, evidence, causes, and what was checked; the JSON of `eagleray doctor` has their fields."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

from eagleray.doctor.fact_checks import FactCheck

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
# The role of a sign in the failure; `ranking.py` explains each.
Role = Literal["cause", "coarse", "symptom", "consequence", "pointer"]
ROLES: tuple[Role, ...] = ("cause", "coarse", "symptom", "consequence", "pointer")
# Another line says more of the failure.
FOLLOWING: tuple[Role, ...] = ("consequence", "pointer")
# A variable of the program, an argument of its command, or the answer to a question of a preset.
Place = Literal["environment", "override", "preset"]
PLACES: tuple[Place, ...] = ("environment", "override", "preset")


@frozen
class SettingChange:
    """A setting of a run that a fix changes: its name and new value.

    An override is added to the command as `name=value`, or as `--name value` if it begins with hyphens.  `framework` is the
    one that has it, "" for any.
    """

    where: Place
    name: str
    value: str
    framework: str = ""

    @property
    def text(self) -> str:
        """As it is typed."""
        return f"{self.name}{' ' if self.name.startswith('-') else '='}{self.value}"


@frozen(kw_only=True)
class Advice:
    """The fix of a problem.

    `why` says how others fail because of it; of a consequence or pointer, why it follows.  `settings` has the change for
    a framework by its name, such as `verl`; `changes` are those that can be made in a run.  `command` is a fixed command
    for a terminal that belongs to the fix.  `source` says where the rule comes from (repository, version, issue).
    """

    id: str
    fix: str
    source: str
    severity: Severity = "error"
    why: str = ""
    settings: dict[str, str] = field(factory=dict)
    changes: tuple[SettingChange, ...] = ()
    command: str = ""


@frozen(kw_only=True)
class Rule(Advice):
    """A sign of trouble in a line of a log, or with a `check` in the facts of a node.

    `pattern` is a regular expression for a part of one line, `literals` the texts of which each match has at least one.
    `meaning`, `fix` and `why` are texts with the pattern's named groups as `{name}`.  `role` says what the sign is to the
    failure.  `examples` are lines that match, `counterexamples` lines that don't; of a check they are values of its fact,
    and its pattern is "".
    """

    pattern: str
    meaning: str
    role: Role = "cause"
    examples: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    check: FactCheck | None = None

    @property
    def follows(self) -> bool:
        return self.role in FOLLOWING


@frozen
class DiagnosisTarget:
    """The target of a diagnosis: log files and folders of this machine, the output of a run by its ID, or all nodes of
    a cluster (its ID or address) or of a job of SLURM, with logs as far as they can be read.

    `before`: only nodes are checked, for a program that isn't started yet: the cluster's nodes, and this machine,
    whose facts `python` reads, the program's interpreter; "" is the one on the path.  `command` is what starts the
    program.

    `rule_folders` are folders of a workspace that the user trusts: rules of a team in them count, too.
    """

    paths: tuple[str, ...] = ()
    run_id: str = ""
    cluster: str = ""
    slurm_job: str = ""
    before: bool = False
    python: str = ""
    command: tuple[str, ...] = ()
    rule_folders: tuple[str, ...] = ()


@frozen
class LogEvidence:
    """A line of a log, without secrets and control characters: `line` is its number from 1, `time` in seconds since 1970.

    `worker` is as Ray prefixes it ("WorkerDict pid=29197"), `node` its address; `repeats` counts what Ray has folded.
    `rank` is None where no line says it.
    """

    path: str
    line: int
    text: str
    time: float | None = None
    node: str = ""
    worker: str = ""
    repeats: int = 1
    rank: int | None = None


@frozen(kw_only=True)
class Cause(Advice):
    """The matches of a rule: the earliest lines of each file first, of `count` lines in `files` files.

    `secondary`: it follows from an earlier cause.
    """

    sentence: str
    evidence: tuple[LogEvidence, ...]
    secondary: bool = False
    count: int
    files: int


@frozen
class UncheckedFile:
    """A file that was not read, and why."""

    path: str
    reason: str


@frozen
class Checked:
    """The input that was read: number of files and bytes, the rules, and files that were not read."""

    files: int
    bytes: int
    rules: int
    unchecked: tuple[UncheckedFile, ...] = ()


@frozen
class Diagnosis:
    """The earliest cause first; `unknown` are errors that no rule explains, the named one first.

    `raised` says of the exception that is the first error where it was raised, on which condition, and what it advises.
    """

    sentence: str
    causes: tuple[Cause, ...]
    unknown: tuple[LogEvidence, ...]
    checked: Checked
    raised: str = ""
