"""Reads logs and names the causes of trouble, the earliest first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from attrs import evolve

from eagleray.common.l10n import t
from eagleray.doctor import texts
from eagleray.doctor.advice import advice_for, advice_in, fix_by_place, nccl_error_in
from eagleray.doctor.file_reading import LEVELS, MOST_UNKNOWN, read_file
from eagleray.doctor.findings import Findings, MatchedRule, TimeScope
from eagleray.doctor.frameworks import frameworks_of_logs, with_settings_of
from eagleray.doctor.installed_packages import InstalledPackages
from eagleray.doctor.logs.files import ScannedFile
from eagleray.doctor.logs.literal_scan import Hit, LiteralScan, OnBytes
from eagleray.doctor.matching import Matcher, cause_of
from eagleray.doctor.model import Cause, Checked, Diagnosis, LogEvidence, Rule, UncheckedFile
from eagleray.doctor.ranking import (
    UNKNOWN,
    Candidate,
    Order,
    ranked,
    survived_cause,
    undecided_cause,
    unknown_cause,
)
from eagleray.doctor.survived_errors import OF_SETTINGS
from eagleray.doctor.unknown_errors import (
    FORMS,
    MARKERS,
    is_of_other_program,
    points_elsewhere,
    raised_at,
    unlogged,
)

# The driver ends so many lines after the error of its worker.
_ENDING = 100
# Ray also says it of nodes that are stopped because their program has failed.
_OF_ENDS = frozenset({"node-dead"})


def diagnose(
    files: Sequence[ScannedFile],
    rules: Sequence[Rule],
    unchecked: Sequence[UncheckedFile] = (),
    on_bytes: OnBytes = lambda _count: None,
    is_cancelled: Callable[[], bool] = lambda: False,
    scope: TimeScope | None = None,
    frameworks: Collection[str] = (),
    installed: InstalledPackages | None = None,
) -> Diagnosis:
    """The diagnosis of what is in `files` now; blocks while it reads.

    A cancelled one has what was read until then.  Without `frameworks` of the program, its logs may name one.
    """
    matcher = Matcher(rules)
    literals, markers, forms = (
        [text.encode() for text in own] for own in (matcher.literals(), MARKERS, FORMS)
    )
    whole = matcher.grep_forms()
    scan = LiteralScan(
        files, literals, on_bytes, is_cancelled, forms=forms, markers=markers, whole=whole
    )
    levels = frozenset(
        level for level in LEVELS if not any(_hides(level, each) for each in literals)
    )
    findings = Findings(matcher, scope or TimeScope(), levels)
    for number, hits in _by_file(scan.hits()):
        read_file(number, files[number], hits, scan, findings)
    checked = Checked(
        len(files) - len(scan.unread),
        sum(file.size for file in files),
        sum(rule.check is None for rule in rules),
        (
            *unchecked,
            *(UncheckedFile(str(files[item.file].path), item.reason) for item in scan.unread),
        ),
    )
    if not frameworks and findings.has_settings():
        frameworks = frameworks_of_logs(files, findings.places)
    return _conclusion(findings, checked, frameworks, installed or InstalledPackages())


def _hides(marker: bytes, literal: bytes) -> bool:
    """Whether grep, which takes the first and then the longest text, may take a marker in place of a literal, unless a letter follows."""
    ends = (marker[at:] for at in range(1, len(marker)))
    return literal in marker or any(
        literal.startswith(end) and not literal[len(end) :][:1].isalpha() for end in ends
    )


def _by_file(hits: Iterator[Hit]) -> Iterator[tuple[int, Iterator[Hit]]]:
    from itertools import groupby

    return groupby(hits, key=lambda hit: hit.file)


def _conclusion(
    findings: Findings,
    checked: Checked,
    frameworks: Collection[str],
    installed: InstalledPackages,
) -> Diagnosis:
    of_rules = [evidence for group in findings.groups.values() for evidence, _ in group.evidence]
    order = Order.of([*of_rules, *findings.unknown, *findings.exceptions, *findings.statements])
    exceptions = sorted(filter(findings.is_fatal, findings.exceptions), key=order.place)
    end = _end_of_driver(findings, exceptions)
    candidates, survived = _candidates(findings, end, order)
    others = {item.text for item in exceptions if item != end}
    exceptions = [item for item in exceptions if item != end or item.text in others]
    clear = [item for item in exceptions if not points_elsewhere(item.text)]
    exceptions = clear if clear or candidates else exceptions
    alike: dict[str, list[LogEvidence]] = {}
    for item in exceptions:
        alike.setdefault(item.text, []).append(item)
    errors = [
        (*same, *(each for item in same for each in findings.chained.get(item, [])))
        for same in alike.values()
    ]
    errors += [
        (item,) for item in sorted(filter(findings.is_fatal, findings.statements), key=order.place)
    ]
    causes = with_settings_of(ranked(candidates, errors, order), frameworks)
    is_open = bool(findings.undecided) and not findings.failed
    if is_open:
        if exceptions and not any(cause.severity == "error" for cause in causes):
            causes.insert(0, unknown_cause(errors[0], unlogged(exceptions[0].text)))
        causes = [undecided_cause(each) if each.severity == "error" else each for each in causes]
    causes += survived
    listed = filter(findings.is_fatal, findings.unknown)
    unknown = sorted(listed, key=lambda item: (is_of_other_program(item.text), *order.place(item)))
    del unknown[MOST_UNKNOWN:]
    first = exceptions[0] if exceptions else None
    if causes and causes[0].id == UNKNOWN:
        first = causes[0].evidence[0]
        unknown = [item for item in unknown if item not in causes[0].evidence]
    elif first:
        # The one that the sentence names is listed first.
        unknown = [first, *(item for item in unknown if item != first)][:MOST_UNKNOWN]
    # A program does not end because of a warning.
    is_named = not first or is_open or any(cause.severity == "error" for cause in causes)
    sentence = texts.sentence(causes if is_named else (), [first] if first else unknown, checked)
    own = causes[0].evidence[0] if causes and is_named else first
    frames, message = findings.raised.get((own.path, own.line), ([], [])) if own else ([], [])
    advice = advice_for(message or [unlogged(own.text)], own.text, frames) if own else ""
    nodes = {each.node for each in exceptions if own and each.text == own.text}
    if (
        not advice
        and len(nodes) == 1
        and "" not in nodes
        and own
        and "FileNotFoundError: " in own.text
    ):
        advice = t("Only {node} reports it: check that all nodes share this path.", node=own.node)
    if causes and not causes[0].fix:
        causes[0] = evolve(causes[0], fix=advice if causes[0].id == UNKNOWN else advice_in(message))
    if fix := fix_by_place(causes, frames):
        causes[0] = evolve(causes[0], fix=fix)
    explained = installed.explanation(frames, " ".join(message))
    shown_advice = "" if causes and is_named else advice
    raised = " ".join(
        filter(None, [raised_at(frames), explained, nccl_error_in(message), shown_advice])
    )
    return Diagnosis(sentence, tuple(causes), tuple(unknown), checked, raised)


def _candidates(
    findings: Findings, end: LogEvidence | None, order: Order
) -> tuple[list[Candidate], list[Cause]]:
    """Returns possible causes, and notes on errors after which their program has continued, or on warnings if nothing failed."""
    candidates, notes = [], []
    following = []
    fatal = {
        name: [each for each in group.evidence if findings.is_fatal(each[0])]
        for name, group in findings.groups.items()
    }
    ends = [own for own in fatal.values() if own and own[0][1].rule.severity == "error"]
    is_failed = bool(ends) or any(map(findings.is_fatal, findings.exceptions))
    for name, group in findings.groups.items():
        severity = group.evidence[0][1].rule.severity
        is_advice = severity == "info" or name in OF_SETTINGS
        is_shown = is_advice or (severity == "warning" and is_failed)
        own = group.evidence if is_shown else fatal[name] or group.evidence
        candidate = _candidate(evolve(group, evidence=own), order)
        if end and name in _OF_ENDS and order.is_before(end, candidate.cause.evidence[0], False):
            candidate = evolve(candidate, role="symptom")
        if fatal[name] or is_shown:
            candidates.append(candidate)
        elif candidate.follows:
            following.append(survived_cause(candidate.cause))
        else:
            notes.append(survived_cause(candidate.cause))
    # A consequence tells nothing beside the note on its cause.
    notes = notes or following
    others = [item for item in findings.unknown if not findings.is_fatal(item)]
    if others:
        first = sorted(others, key=order.place)
        notes.append(survived_cause(unknown_cause(first, unlogged(first[0].text))))
    return candidates, sorted(notes, key=lambda cause: order.place(cause.evidence[0]))


def _end_of_driver(findings: Findings, errors: Sequence[LogEvidence]) -> LogEvidence | None:
    """The exception that ends the driver, which has no label, shortly after an error of a worker."""
    for each in errors:
        frames, _ = findings.raised.get((each.path, each.line), ([], []))
        if not each.worker and frames and frames[0].function == "<module>":
            own = (other for other in errors if other.worker and other.path == each.path)
            if any(0 < each.line - other.line <= _ENDING for other in own):
                return each
    return None


def _candidate(group: MatchedRule, order: Order) -> Candidate:
    """The words come from the earliest line, which a user reads below them."""
    earliest = sorted(group.evidence, key=lambda item: order.place(item[0]))
    _, match = earliest[0]
    cause = cause_of(match, [evidence for evidence, _ in earliest], group.count)
    return Candidate(cause, match.rule.role)
