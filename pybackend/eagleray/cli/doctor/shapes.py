"""Diagnoses in `--json`."""

from __future__ import annotations

from attrs import asdict

from eagleray.cli.json_shapes import VERSION, VERSIONED, Field, Json, Shape, shaped
from eagleray.doctor.model import Diagnosis

_EVIDENCE = ("path", "line", "text", "time", "node", "worker", "repeats", "rank")
_CAUSE = (
    "id", "sentence", "fix", "evidence", "secondary", "severity", "count", "files", "source",
    "settings", "why", "changes", "command",
)  # fmt: skip
DIAGNOSIS: Shape = {
    **VERSIONED,
    "sentence": Field("what a user reads first"),
    "causes": Field(
        f"list of {{{', '.join(_CAUSE)}}}, the earliest first and consequences (secondary) last; evidence is a list of "
        f"{{{', '.join(_EVIDENCE)}}}, changes a list of {{where, name, value, framework}}: settings of a run that fix it, "
        'command one for a terminal that helps, "" for none',
        "array",
        _CAUSE,
    ),
    "unknown": Field(
        f"errors that no rule explains, the named one first: list of {{{', '.join(_EVIDENCE)}}}",
        "array",
        _EVIDENCE,
    ),
    "checked": Field(
        "{files, bytes, rules, unchecked}: what was read, and which files were not, as {path, reason}",
        "object",
        ("files", "bytes", "rules", "unchecked"),
    ),
    "raised": Field(
        "what is known of the exception that is the first error: place, condition, versions, advice"
    ),
}


def diagnosis_json(diagnosis: Diagnosis) -> Json:
    causes = [shaped(cause, _CAUSE) for cause in diagnosis.causes]
    return {"version": VERSION, **asdict(diagnosis), "causes": causes}
