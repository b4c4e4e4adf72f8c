"""The findings in all logs of a diagnosis."""

from __future__ import annotations

from pathlib import Path

from attrs import define, field, frozen

from eagleray.doctor.clocks import Clocks
from eagleray.doctor.matching import Match, Matcher
from eagleray.doctor.model import LogEvidence
from eagleray.remote.sampling.frames import PythonFrame


@frozen
class TimeScope:
    """The clocks of the nodes, and the time before which lines are of earlier programs; 0: none are."""

    clocks: Clocks = field(factory=Clocks)
    started: float = 0.0


@define
class MatchedRule:
    """The matches of one rule: its first lines in each file, each with its match."""

    count: int = 0
    evidence: list[tuple[LogEvidence, Match]] = field(factory=list)


@define
class Findings:
    matcher: Matcher
    scope: TimeScope
    # The names of levels that hide no literal of a rule.
    levels: frozenset[bytes]
    groups: dict[str, MatchedRule] = field(factory=dict)
    unknown: list[LogEvidence] = field(factory=list)
    exceptions: list[LogEvidence] = field(factory=list)
    # Exceptions that were raised while another was handled, or the failed lookup behind it.
    chained: dict[LogEvidence, list[LogEvidence]] = field(factory=dict)
    # Files and numbers of lines with errors after which their program has continued, as later lines show.
    survived: set[tuple[str, int]] = field(factory=set)
    # The same, if no other of the files has an error that its program hasn't survived: these files.
    outlived: set[tuple[str, int]] = field(factory=set)
    failed: set[str] = field(factory=set)
    # Files that continue after their last error, and don't show how their program has ended.
    undecided: set[str] = field(factory=set)
    # Lines that state a failure shortly before what only follows from one.
    statements: list[LogEvidence] = field(factory=list)
    places: list[tuple[Path, int]] = field(factory=list)
    # Frames and messages of exceptions by the files and numbers of their lines.
    raised: dict[tuple[str, int], tuple[list[PythonFrame], list[str]]] = field(factory=dict)

    def is_fatal(self, evidence: LogEvidence) -> bool:
        """Whether the program may have ended because of an error."""
        key = evidence.path, evidence.line
        is_outlived = key in self.outlived and not self.failed - {evidence.path}
        return key not in self.survived and not is_outlived

    def has_settings(self) -> bool:
        return any(
            match.rule.settings for group in self.groups.values() for _, match in group.evidence
        )
