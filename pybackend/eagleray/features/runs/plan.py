"""What is started and how, as a value: all that a run needs to know, and all that starting it again needs."""

from __future__ import annotations

from typing import Any, Literal

import cattrs
from attrs import astuple, field, frozen

Kind = Literal["program", "module", "script", "command", "sbatch", "job"]
When = Literal["always", "steps", "seconds", "on-demand"]

_converter = cattrs.Converter()


@frozen
class Line:
    """A breakpoint on a line; `condition`, `hit` and `log` are those of DAP, "" for none."""

    line: int
    condition: str = ""
    hit: str = ""
    log: str = ""


@frozen
class Breakpoint:
    """The breakpoints of one file, whose path is absolute."""

    path: str
    lines: tuple[Line, ...]


@frozen
class ProfilePlan:
    """What is recorded by nsys.

    `workers` are shell patterns; `ranks` None means every rank.  "steps": where the program itself calls
    cudaProfilerApi, `steps` is what its framework is told ("3:5").  "seconds": so many from each worker's
    start.  "on-demand": when somebody says so.  `options` are further ones of nsys, "" for one without a value.
    `nsys` is the program on the nodes, "" for the one that is found; `output` the folder for reports here.
    """

    workers: tuple[str, ...]
    ranks: tuple[int, ...] | None = None
    when: When = "always"
    steps: str = ""
    seconds: float = 0.0
    trace: str = "cuda,nvtx,osrt"
    options: dict[str, str] = field(factory=dict)
    nsys: str = ""
    output: str = ""


@frozen
class ScriptCopy:
    """The text that runs in place of the script `path`, which is absolute; a pair in JSON."""

    path: str
    text: str


@frozen
class RunPlan:
    """A start of the person's program.

    `argv` is what the person would type, in `cwd`; for "sbatch" it begins with `sbatch`.  `overrides` come
    after it.  `cluster` is the id of a cluster, "" for none: a "job" runs there, anything else runs here and
    joins it.  `env` is added to the environment.  `workers` are shell patterns, none of them means everybody;
    `ranks` None means every rank.  `everywhere`: every worker gets a runtime_env, also without a breakpoint.
    `workspace` is the folder of the window that started it, "" for a terminal.  With `copy_text` a copy of the
    script `copy_of`, with that text, is what runs in its place; it starts the `inner_copies` by their numbers.
    `profile`: workers that nsys records.
    `python` is the interpreter whose environment a program of this machine finds active, "" for as it is.
    """

    kind: Kind
    argv: tuple[str, ...]
    cwd: str
    name: str
    env: dict[str, str] = field(factory=dict)
    cluster: str = ""
    breakpoints: tuple[Breakpoint, ...] = ()
    workers: tuple[str, ...] = ()
    ranks: tuple[int, ...] | None = None
    post_mortem: bool = False
    children: bool = False
    everywhere: bool = False
    preset: str = ""
    overrides: tuple[str, ...] = ()
    workspace: str = ""
    copy_of: str = ""
    copy_text: str = ""
    inner_copies: tuple[ScriptCopy, ...] = ()
    profile: ProfilePlan | None = None
    python: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        """What is run."""
        return (*self.argv, *self.overrides)


def _script_copy(said: Any, _: type) -> ScriptCopy:
    path, text = said
    if not (isinstance(path, str) and isinstance(text, str)):
        raise TypeError("a copy is a pair of texts")
    return ScriptCopy(path, text)


_converter.register_unstructure_hook(ScriptCopy, lambda copy: list(astuple(copy)))
_converter.register_structure_hook(ScriptCopy, _script_copy)


def to_json(plan: RunPlan) -> dict[str, Any]:
    """A plan as plain JSON values."""
    said: dict[str, Any] = _converter.unstructure(plan)
    return said


def of_json(said: dict[str, Any]) -> RunPlan:
    """The plan that `to_json` said; raises a `cattrs` error, ValueError or TypeError."""
    return _converter.structure(said, RunPlan)


def breakpoints_of_json(said: list[dict[str, Any]]) -> tuple[Breakpoint, ...]:
    return tuple(_converter.structure(one, Breakpoint) for one in said)
