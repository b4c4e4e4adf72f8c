"""Checks a node before a program runs there: asks its facts, and applies the rules on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eagleray.common.errors import printable
from eagleray.common.l10n import t, translated
from eagleray.common.redact import redact_text
from eagleray.features.doctor.errors import node_silent
from eagleray.features.doctor.model import SEVERITIES, Cause, Checked, Diagnosis, LogEvidence
from eagleray.features.doctor.node_rules import RULES
from eagleray.tools.commands import Commands

SCRIPT = Path(__file__).parents[2] / "remote_scripts" / "node_facts.py"
_LIMIT_S = 20.0


async def local_facts(commands: Commands, python: str) -> dict[str, Any]:
    """The facts of this machine, read by `python`; raises EaglerayError if it doesn't answer with them."""
    output = await commands.run("", [python, str(SCRIPT)], limit_s=_LIMIT_S)
    try:
        facts = json.loads(output.stdout)
    except ValueError as error:
        raise node_silent(python, output.stderr) from error
    if not isinstance(facts, dict):
        raise node_silent(python, output.stderr)
    return facts


def node_diagnosis(nodes: Sequence[Mapping[str, Any]]) -> Diagnosis:
    """What the facts of all nodes say, errors first; each cause names its nodes as evidence."""
    causes = [cause for rule in RULES if (cause := _cause(rule.id, nodes))]
    causes.sort(key=lambda cause: SEVERITIES.index(cause.severity))
    sentence = causes[0].sentence if causes else t("No check has found a problem.")
    return Diagnosis(sentence, tuple(causes), (), Checked(0, 0, len(RULES)))


def _cause(rule_id: str, nodes: Sequence[Mapping[str, Any]]) -> Cause | None:
    rule = next(rule for rule in RULES if rule.id == rule_id)
    evidence = tuple(
        LogEvidence(rule.place, 0, printable(redact_text(text), 500), node=str(facts["host"]))
        for facts in nodes
        if (text := rule.read(facts))
    )
    if not evidence:
        return None
    return Cause(
        rule.id,
        translated(rule.meaning),
        translated(rule.fix),
        evidence,
        False,
        rule.severity,
        len(evidence),
        len(evidence),
        rule.source,
    )
