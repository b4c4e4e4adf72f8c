"""Pictures of a hang and inspections of a process in `--json`."""

from __future__ import annotations

from eagleray.cli.json_shapes import INTEGER, VERSIONED, Field, Shape

_READING = ("kind", "culprits", "confidence", "sentence", "next_step", "group")
_RANK = (
    "group", "rank", "role", "pid", "node", "doing", "call", "moves", "cpu", "state", "collectives",
    "gpus",
)  # fmt: skip
_NATIVE = ("group", "rank", "reason", "thread", "frames", "paused_s", "resumed")
_CHANGE = ("group", "ranks", "before", "after")
_INSIDE = ("group", "rank", "reason", "exceptions", "awaits")
_RAS = ("node", "version", "reasons", "communicators", "ranks", "state", "notable", "sentences")
_EXIT = ("group", "rank", "exit_code", "oom_kills", "exception", "path", "line")
PICTURE: Shape = {
    "version": Field("version of the picture", INTEGER),
    "taken_at": Field("seconds since 1970", "number"),
    "verdict": Field(
        f"{{{', '.join(_READING)}, readings}}: ranks as text (`0-1,3`), confidence from 0 to 1",
        "object",
        (*_READING, "readings"),
    ),
    "classes": Field(
        "processes with the same stack: list of {group, ranks, doing, thread, frames}",
        "array",
        ("group", "ranks", "doing", "thread", "frames"),
    ),
    "ranks": Field(f"every process: list of {{{', '.join(_RANK)}}}", "array", _RANK),
    "coverage": Field(
        "{seen, unseen, nodes, workers, main_only, resumed, samples}: how many processes were read, which ranks and nodes were "
        "not, with --workers its pattern, the ranks of which only the main thread was read, those that were sent SIGCONT, and "
        "how often each was looked at, 0 with --from",
        "object",
        ("seen", "unseen", "nodes", "workers", "main_only", "resumed", "samples"),
    ),
    "inside": Field(
        f"what processes say of themselves, with --inside: list of {{{', '.join(_INSIDE)}}}",
        "array",
        _INSIDE,
    ),
    "target": Field('of what it is, such as "run 3f9c"; "" if that is unknown'),
    "native": Field(
        f"native frames of the process that matters most, with --native of one of each class: list of {{{', '.join(_NATIVE)}}}, frames of {{function, library}}",
        "array",
        _NATIVE,
    ),
    "exits": Field(
        f"what logs and the system say of ranks that end or have ended: list of {{{', '.join(_EXIT)}}}",
        "array",
        _EXIT,
    ),
    "threads": Field(
        'the threads besides those of `classes`: list of {group, ranks, doing, thread, frames}, with `doing` ""',
        "array",
        ("group", "ranks", "doing", "thread", "frames"),
    ),
    "ras": Field(
        f"what NCCL RAS has answered on each node: list of {{{', '.join(_RAS)}}}, notable of {{name, size, call, joined, behind, absent, dead, places}}",
        "array",
        _RAS,
    ),
    "changes": Field(
        f"which ranks are elsewhere, with --compare: list of {{{', '.join(_CHANGE)}}}, the last two lists of frames",
        "array",
        _CHANGE,
    ),
}
INSPECTION: Shape = {
    **VERSIONED,
    "pid": Field("process id", INTEGER),
    "how": Field('"inside" (the process answered) or "py-spy" (it was read from outside)'),
    "why_outside": Field('why the process gave no answer, else ""'),
    "thread": Field("name of the thread"),
    "exception": Field('the exception that the thread handles, else ""'),
    "stack": Field(
        "list of {function, path, line}, innermost first", "array", ("function", "path", "line")
    ),
    "variables": Field(
        "list of {name, value}: the local variables of the innermost frame of your own code",
        "array",
        ("name", "value"),
    ),
    "more_frames": Field("whether the stack has frames that were left out, further out", "boolean"),
    "more_variables": Field("how many local variables were left out", INTEGER),
    "values": Field(
        "list of {expression, value, error}; value is null after an error",
        "array",
        ("expression", "value", "error"),
    ),
}
