"""Checks a node before a program runs there: asks its facts, and applies the rules on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import t, translated
from eagleray.common.redact import redact_text
from eagleray.doctor.driver_checks import DRIVER_CHECKS, driver_causes, worker_causes
from eagleray.doctor.errors import node_silent
from eagleray.doctor.fact_checks import FactCheck
from eagleray.doctor.model import (
    SEVERITIES,
    Advice,
    Cause,
    Checked,
    Diagnosis,
    LogEvidence,
    Rule,
    UncheckedFile,
)
from eagleray.doctor.node_rules import DIFFERENCES, RULES, NodeRule, name_of
from eagleray.doctor.worker_python import WorkerPython
from eagleray.runs.command_ports import CommandPort
from eagleray.tools.commands import Commands
from eagleray.wire.records import fields_in

SCRIPT = Path(__file__).parents[1] / "remote" / "scripts" / "node_facts.py"
_LIMIT_S = 20.0


@frozen
class NodeFacts:
    """The facts of the nodes that have answered, and the names of those that haven't, each with a reason or "".

    `driver` has the facts of the machine that starts a program, read by the program's Python; it may be one of the
    nodes. `workers` are the interpreters that its command names for workers.
    """

    facts: tuple[Mapping[str, Any], ...]
    silent: tuple[tuple[str, str], ...] = ()
    driver: Mapping[str, Any] | None = None
    workers: tuple[WorkerPython, ...] = ()


async def local_facts(
    commands: Commands, python: str, environ: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The facts of this machine, read by `python`, in the environment of another program or our own.

    Raises EaglerayError if it doesn't answer with them.
    """
    command = [python, str(SCRIPT)]
    if environ is None:
        output = await commands.run("", command, limit_s=_LIMIT_S)
    else:
        output = await commands.run_in(environ, command, _LIMIT_S)
    try:
        facts = json.loads(output.stdout)
    except ValueError as error:
        raise node_silent(python, output.stderr) from error
    if not isinstance(facts, dict):
        raise node_silent(python, output.stderr)
    return facts


def node_diagnosis(
    answers: NodeFacts,
    before: bool = False,
    own: Sequence[Rule] = (),
    ports: Sequence[CommandPort] = (),
) -> Diagnosis:
    """Returns causes in the facts of all nodes, errors first; each cause names its nodes as evidence.

    `before`: no program runs there yet.  `ports` are the command's ports, on the machine of its driver.  Checks among
    the `own` rules are done, too, and replace ours with the same ID.
    """
    checks = [_check(rule, rule.check) for rule in own if rule.check is not None]
    replaced = {rule.id for rule in checks}
    ours = (rule for rule in RULES if rule.id not in replaced)
    rules = [*(rule for rule in ours if before or not rule.before), *checks]
    causes = [
        cause
        for rule in (*rules, *DIFFERENCES)
        if (cause := _cause(rule, answers.facts, if_different=rule in DIFFERENCES))
    ]
    driver = answers.driver
    if driver is not None:
        causes += driver_causes(driver, answers.facts, ports)
        causes += worker_causes(driver, answers.workers)
    causes.sort(key=lambda cause: SEVERITIES.index(cause.severity))
    sentence = causes[0].sentence if causes else t("No check has found a problem.")
    silent = tuple(
        UncheckedFile(t("node {node}", node=node), redact_text(reason) or t("no answer"))
        for node, reason in answers.silent
    )
    silent += tuple(map(_uncompared, filter(attrgetter("unknown"), answers.workers)))
    count = len(rules) + len(DIFFERENCES) + (DRIVER_CHECKS if driver is not None else 0)
    return Diagnosis(sentence, tuple(causes), (), Checked(0, 0, count, silent))


def _uncompared(python: WorkerPython) -> UncheckedFile:
    text = " ".join(part for part in (python.place, python.text) if part)
    return UncheckedFile(t("Python of workers in {text}", text=text), python.unknown)


def _check(rule: Rule, check: FactCheck) -> NodeRule:
    return NodeRule(
        id=rule.id,
        severity=rule.severity,
        place="rules",
        read=check.finding,
        meaning=rule.meaning,
        fix=rule.fix,
        source=rule.source,
        command=rule.command,
    )


def _cause(rule: NodeRule, nodes: Sequence[Mapping[str, Any]], if_different: bool) -> Cause | None:
    evidence = tuple(
        LogEvidence(rule.place, 0, printable(redact_text(text), 500), node=name_of(facts))
        for facts in nodes
        if (text := _read(rule, facts))
    )
    if not evidence or (if_different and len({item.text for item in evidence}) == 1):
        return None
    return Cause(
        **{**fields_in(rule, Advice), "fix": translated(rule.fix)},
        sentence=translated(rule.meaning),
        evidence=evidence,
        count=len(evidence),
        files=len(evidence),
    )


def _read(rule: NodeRule, facts: Mapping[str, Any]) -> str:
    """Returns the rule's finding about a node; "" for facts that a node has not sent as we do."""
    try:
        return rule.read(facts)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return ""
