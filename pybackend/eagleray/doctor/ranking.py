"""One ranking of all that may be the cause: what rules name, and errors that no rule explains.

Each candidate has a role, and gives way to better ones by it:

| role | what it is | gives way to a cause of a rule | to an error that no rule explains |
| --- | --- | --- | --- |
| cause | a reason | never | never |
| coarse | a reason without its detail | in its block | never |
| symptom | an end without a reason, such as "Killed" | before it, or in its block | before it |
| consequence | of another process's failure | always | before it |
| pointer | names an error near it | always | before it, or in its block |

An error that no rule explains is an exception or crash, or else, for consequences and pointers, a line shortly before them
that states a failure.  A block are the lines of one process near each other.  Within the lines of one node in a file, their numbers are the order; else times are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from attrs import define, evolve, field, frozen

from eagleray.common.l10n import t
from eagleray.doctor.clocks import TOLERANCE_S
from eagleray.doctor.model import FOLLOWING, SEVERITIES, Cause, LogEvidence, Role
from eagleray.doctor.unknown_errors import unlogged

# The ID of an error that no rule explains.
UNKNOWN = "unknown-error"
# Such an error after which its program has continued.
SURVIVED = "survived-error"
REASONS = ("cause", "coarse")
_NO_TIME = float("inf")
# A traceback with the frames of a worker and its caller is shorter.
_BLOCK = 100


@frozen
class Candidate:
    """The matches of a rule, with the rule's role."""

    cause: Cause
    role: Role

    @property
    def follows(self) -> bool:
        return self.role in FOLLOWING


@define
class Order:
    """The order of lines: within a file by their numbers, between files and between nodes of a file by times.

    A line without a time gets the time of the nearest line before it that counts, or else of the one after it.
    """

    _times: dict[tuple[str, str, int], float | None] = field(factory=dict)

    @classmethod
    def of(cls, evidence: Iterable[LogEvidence]) -> Order:
        order = cls()
        lines = sorted({_key(item): item for item in evidence}.items())
        for _, of_file in groupby(lines, key=lambda item: item[0][:2]):
            order._add([item for _, item in of_file])
        order._add_times_of_others()
        return order

    def _add_times_of_others(self) -> None:
        """Lines of a node without any time, as NCCL's, get the time of the line above them in the file."""
        for _, lines in groupby(
            sorted(self._times, key=lambda key: (key[0], key[2])), lambda key: key[0]
        ):
            keys = [*lines]
            time = next((self._times[key] for key in keys if self._times[key] is not None), None)
            for key in keys:
                if self._times[key] is None:
                    self._times[key] = time
                else:
                    time = self._times[key]

    def _add(self, lines: Sequence[LogEvidence]) -> None:
        """Lines of one file and node, whose writers may have several clocks: a later line is never earlier."""
        time = next((item.time for item in lines if item.time is not None), None)
        for item in lines:
            if time is not None and item.time is not None:
                time = max(time, item.time)
            self._times[_key(item)] = time

    def place(self, evidence: LogEvidence) -> tuple[float, str, int]:
        """By which lines are sorted; files without any time come last."""
        time = self._time(evidence)
        return _NO_TIME if time is None else time, evidence.path, evidence.line

    def is_before(self, first: LogEvidence, then: LogEvidence, if_unknown: bool) -> bool:
        """Whether `first` isn't later; `if_unknown` is the answer for files without times."""
        before, after = self._time(first), self._time(then)
        if before is None or after is None:
            return first.line <= then.line if first.path == then.path else if_unknown
        if first.path == then.path and abs(before - after) <= TOLERANCE_S:
            return first.line <= then.line
        return before <= after + TOLERANCE_S

    def _time(self, evidence: LogEvidence) -> float | None:
        return self._times.get(_key(evidence), evidence.time)


def _key(evidence: LogEvidence) -> tuple[str, str, int]:
    return evidence.path, evidence.node, evidence.line


def ranked(
    candidates: Iterable[Candidate], errors: Sequence[Sequence[LogEvidence]], order: Order
) -> list[Cause]:
    """The causes, those that gave way last; each that remains says why others follow from it.

    `errors` are those that no rule explains, the earliest first: the first line of each names it, the others were raised
    while it was handled.

    1. Severities come first, then the order of lines.
    2. Causes that rules name stay, and others give way to them.
    3. Unless such a cause is the first one then, the first gives way to an error that no rule explains, which is the cause.
    4. Else the first of what is left is the cause: a symptom before consequences and pointers.
    """
    rest = sorted(candidates, key=lambda item: _order(item.cause, order))
    named = [item for item in rest if item.role in REASONS and item.cause.severity == "error"]
    remaining = [item for item in rest if not any(_yields(item, other, order) for other in named)]
    first = next((item for item in remaining if item.cause.severity == "error"), None)
    unknown = (
        _unknown_before(remaining, errors, order) if first and first.role not in REASONS else None
    )
    if unknown is not None:
        sentence = unlogged(unknown[0].text)
        remaining = [item for item in remaining if item.role in REASONS]
        primary = [unknown_cause(unknown, sentence), *(item.cause for item in remaining)]
    else:
        remaining = _with_first(remaining)
        primary = [item.cause for item in remaining]
    secondary = [_secondary(item) for item in rest if not any(item is other for other in remaining)]
    shown = [evolve(cause, secondary=False) for cause in primary]
    return [*(evolve(cause, why=_why(cause, secondary, order)) for cause in shown), *secondary]


def unknown_cause(evidence: Sequence[LogEvidence], sentence: str) -> Cause:
    """An error that no rule explains, in the words of a diagnosis; its first line is the one that they name."""
    return Cause(
        id=UNKNOWN,
        sentence=sentence,
        fix="",
        evidence=tuple(evidence),
        count=len(evidence),
        files=len({each.path for each in evidence}),
        source="",
    )


def survived_cause(cause: Cause) -> Cause:
    """A note on an error after which its program has continued."""
    sentence = t("The program continued after this: {text}", text=cause.sentence)
    own_id = SURVIVED if cause.id == UNKNOWN else cause.id
    return evolve(cause, id=own_id, sentence=sentence, severity="info", why="", secondary=False)


def undecided_cause(cause: Cause) -> Cause:
    """An error whose log continues after it, without an end that shows whether its program has survived it."""
    sentence = t("The program may have continued after this: {text}", text=cause.sentence)
    return evolve(cause, sentence=sentence, severity="warning", why="")


def _order(cause: Cause, order: Order) -> tuple[int, float, str, int]:
    return SEVERITIES.index(cause.severity), *order.place(cause.evidence[0])


def _yields(item: Candidate, named: Candidate, order: Order) -> bool:
    """Whether a candidate gives way to a cause that a rule names."""
    own, other = item.cause.evidence[0], named.cause.evidence[0]
    if item.role == "coarse":
        return named.role == "cause" and _is_near(other, own)
    if item.role == "symptom":
        return _is_near(other, own) or order.is_before(other, own, if_unknown=False)
    return item.follows


def _unknown_before(
    remaining: Sequence[Candidate], errors: Sequence[Sequence[LogEvidence]], order: Order
) -> Sequence[LogEvidence] | None:
    """The error that no rule explains to which the first candidates give way.

    1. One in the block of the first pointer.
    2. The earliest, if it or another of its chain isn't later than the first candidate.
    """
    own = [item for item in remaining if item.cause.severity == "error"]
    pointers = (item.cause for item in own if item.role == "pointer")
    for pointer in pointers:
        for error in errors:
            if any(_is_near(each, line) for each in error for line in pointer.evidence):
                return error
    first = own[0]
    if_unknown = first.role != "symptom"
    place = first.cause.evidence[0]
    return next(
        (own for own in errors if any(order.is_before(each, place, if_unknown) for each in own)),
        None,
    )


def _with_first(remaining: Sequence[Candidate]) -> list[Candidate]:
    """Reasons and symptoms are the causes, or else the first candidate; warnings remain."""
    errors = [item for item in remaining if item.cause.severity == "error"]
    own = [item for item in errors if not item.follows] or errors[:1]
    return [item for item in remaining if item in own or item.cause.severity != "error"]


def _is_near(line: LogEvidence, other: LogEvidence) -> bool:
    """Whether two lines are of one block."""
    is_same = (line.path, line.worker, line.node) == (other.path, other.worker, other.node)
    ranks = {line.rank, other.rank} - {None}
    return is_same and len(ranks) < 2 and abs(line.line - other.line) <= _BLOCK


def _secondary(item: Candidate) -> Cause:
    """A symptom says why others follow from it, not why it follows."""
    why = "" if item.role == "symptom" else item.cause.why
    return evolve(item.cause, secondary=True, why=why)


def _why(cause: Cause, secondary: Sequence[Cause], order: Order) -> str:
    if cause.severity != "error" or not any(
        order.is_before(cause.evidence[0], other.evidence[0], if_unknown=True)
        for other in secondary
    ):
        return ""
    return cause.why or t("A process that fails like this leaves its peers waiting.")
