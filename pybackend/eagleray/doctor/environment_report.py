"""An environment report in Markdown, for an issue: facts of all nodes, differences marked, without names and secrets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from eagleray import __version__
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.common.redact import redact_text
from eagleray.doctor.node_checks import NodeFacts, node_diagnosis
from eagleray.doctor.node_rules import name_of

DIFFERS = "≠"
_GIB = 2**30
_LONGEST_VALUE = 200
# Beyond these, only their number.
_MOST_NODES = 8

Facts = Mapping[str, Any]


@frozen
class FactRow:
    """A fact: its values, each with the labels of its nodes, the most frequent value first."""

    name: str
    values: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def differs(self) -> bool:
        return len(self.values) > 1


def report(answers: NodeFacts) -> str:
    """The report as Markdown; nodes are called node-1, node-2, in the order of their names."""
    facts = sorted(answers.facts, key=name_of)
    labels = [f"node-{number}" for number in range(1, len(facts) + 1)]
    names = _Names(facts, labels)
    rows = fact_rows(facts, labels, names.without)
    findings = node_diagnosis(NodeFacts(tuple(facts))).causes
    lines = [
        f"Eagleray {__version__}, " + t("nodes: {n}", n=len(facts)),
        "",
    ]
    lines += [
        "- "
        + t("No answer from a node: {reason}", reason=redact_text(names.without(reason)) or "–")
        for _, reason in answers.silent
    ]
    lines += [f"| | {t('Fact')} | {t('Value')} |", "| --- | --- | --- |"]
    lines += [_line(row) for row in rows]
    if findings:
        lines += ["", t("Checks that found something:"), ""]
        lines += [
            f"- {cause.severity}: {cause.sentence} ({len(cause.evidence)})" for cause in findings
        ]
    return "\n".join(lines) + "\n"


def fact_rows(
    facts: Sequence[Facts], labels: Sequence[str], without: Callable[[str], str]
) -> list[FactRow]:
    """Each fact that a node has; a node without it has "–"."""
    named = [_named(node) for node in facts]
    order = list(dict.fromkeys(name for node in named for name in node))
    rows = []
    for name in order:
        values: dict[str, list[str]] = {}
        for node, label in zip(named, labels, strict=True):
            text = printable(redact_text(without(node.get(name, "–"))), _LONGEST_VALUE)
            values.setdefault(text, []).append(label)
        frequent = sorted(values.items(), key=lambda item: -len(item[1]))
        rows.append(FactRow(name, tuple((value, tuple(nodes)) for value, nodes in frequent)))
    return rows


def _line(row: FactRow) -> str:
    if not row.differs:
        return f"| | {_cell(row.name)} | {_cell(row.values[0][0])} |"
    values = "; ".join(f"{value} ({_nodes(nodes)})" for value, nodes in row.values)
    return f"| {DIFFERS} | {_cell(row.name)} | {_cell(values)} |"


def _nodes(labels: Sequence[str]) -> str:
    shown = ", ".join(labels[:_MOST_NODES])
    return shown if len(labels) <= _MOST_NODES else f"{shown} … {len(labels)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'").replace("<", "&lt;")


def _named(facts: Facts) -> dict[str, str]:
    """The facts that tell environments apart, as texts; what varies, such as free memory, is in checks."""
    rows: dict[str, str] = {}

    def add(name: str, value: object) -> None:
        if value not in (None, "", [], {}):
            rows[name] = str(value)

    add("system", facts.get("system"))
    add("kernel", facts.get("kernel"))
    add("Python", facts.get("python"))
    add("executable", facts.get("executable"))
    for package, version in sorted(_mapping(facts, "packages").items()):
        add(package, version)
    add("NVIDIA driver", facts.get("driver"))
    add("GPUs", len(facts.get("gpus") or ()))
    add("GPU models", _counted(facts.get("gpu_models")))
    add("CPUs", f"{facts.get('cpus')} / {facts.get('all_cpus')}")
    add("memory", _gib(facts.get("memory")))
    add("cgroup limit", _gib(_mapping(facts, "cgroup").get("limit")))
    add("shared memory", _gib(_mapping(facts, "shm").get("size")))
    add("open files (soft, hard)", _joined(facts.get("nofile")))
    add("processes (soft, hard)", _joined(facts.get("nproc")))
    add("ephemeral ports", _joined(facts.get("ephemeral_ports")))
    add("ptrace_scope", facts.get("ptrace_scope"))
    add("graphics files", _joined(facts.get("graphics")))
    variables = _mapping(facts, "variables")
    for name, value in sorted(_mapping(variables, "interfaces").items()):
        add(name, value)
    add("proxies", _joined(variables.get("proxies")))
    add("RAY_DEBUG", variables.get("ray_debug"))
    return rows


def _mapping(facts: Facts, name: str) -> Mapping[str, Any]:
    value = facts.get(name)
    return value if isinstance(value, dict) else {}


def _joined(values: object) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else ""


def _counted(values: object) -> str:
    """Such as "8 x NVIDIA H100 80GB HBM3"."""
    counts = Counter(map(str, values)) if isinstance(values, list) else Counter[str]()
    return ", ".join(f"{count} x {value}" for value, count in counts.items())


def _gib(size: object) -> str:
    return f"{size / _GIB:.1f} GiB" if isinstance(size, (int, float)) else ""


class _Names:
    """Replaces what identifies the user's machines: host names, their addresses, and the home folder."""

    def __init__(self, facts: Sequence[Facts], labels: Sequence[str]) -> None:
        names: dict[str, str] = {str(Path.home()): "~"}
        for node, label in zip(facts, labels, strict=True):
            addresses = [entry.get("address") for entry in node.get("addresses") or ()]
            for name in (node.get("host"), node.get("node"), *addresses):
                if isinstance(name, str) and name:
                    names.setdefault(name, label)
        # Longer ones first, since one may be a part of another.
        self._names = sorted(names.items(), key=lambda item: -len(item[0]))

    def without(self, text: str) -> str:
        for name, label in self._names:
            text = text.replace(name, label)
        return text
