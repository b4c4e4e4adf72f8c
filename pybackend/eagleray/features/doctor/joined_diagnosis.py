"""Joins what logs say with what checks of nodes say."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve

from eagleray.features.doctor.model import Checked, Diagnosis, LogEvidence


def with_nodes(diagnosis: Diagnosis, folder: Path) -> Diagnosis:
    """The diagnosis of copied logs: `folder` has one folder for each node, named by its address."""

    def named(items: tuple[LogEvidence, ...]) -> tuple[LogEvidence, ...]:
        node = len(folder.parts)
        return tuple(
            item if item.node else evolve(item, node=Path(item.path).parts[node]) for item in items
        )

    causes = tuple(evolve(cause, evidence=named(cause.evidence)) for cause in diagnosis.causes)
    return evolve(diagnosis, causes=causes, unknown=named(diagnosis.unknown))


def joined(logs: Diagnosis, nodes: Diagnosis) -> Diagnosis:
    """Causes in logs first, then those of nodes, then what follows.

    A warning about a node doesn't explain an error in the logs: the sentence is that of an error.
    """
    primary = [cause for cause in logs.causes if not cause.secondary]
    secondary = [cause for cause in logs.causes if cause.secondary]
    is_failing = any(cause.severity == "error" for cause in primary) or bool(logs.unknown)
    errors = [cause for cause in nodes.causes if cause.severity == "error"]
    rest = [cause for cause in nodes.causes if cause.severity != "error"]
    if is_failing or not errors:
        sentence = logs.sentence if logs.causes or logs.unknown else nodes.sentence
        causes = [*primary, *errors, *rest, *secondary]
    else:
        sentence = nodes.sentence
        causes = [*errors, *primary, *rest, *secondary]
    checked = Checked(
        logs.checked.files,
        logs.checked.bytes,
        logs.checked.rules + nodes.checked.rules,
        (*logs.checked.unchecked, *nodes.checked.unchecked),
    )
    return evolve(logs, sentence=sentence, causes=tuple(causes), checked=checked)
