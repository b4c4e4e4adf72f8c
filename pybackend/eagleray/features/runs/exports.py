"""Finds the `sbatch` and `srun` commands of a script that export only some variables, without those of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from eagleray.features.runs.kinds import script_at
from eagleray.features.runs.model import RunPlan
from eagleray.features.runs.sbatch_arguments import script_index
from eagleray.features.runs.scripts.bash_tokens import commands_of
from eagleray.features.runs.scripts.script import read_script

# A script that is larger is none.
_LARGEST = 2**20
_OF_SCRIPT = re.compile(r"^#SBATCH\s.*?--export[=\s]+(\S+)", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{?(?P<name>[A-Za-z_]\w*)\}?")
_HANDS_ON_OURS = frozenset({"ALL", "EAGLERAY_RUN"})


def narrowing(plan: RunPlan) -> str:
    """The first such command in the script of a plan, "" if there is none.

    What a script says of itself in its lines `#SBATCH` counts only where a command hands it to `sbatch`: to what is
    submitted as the run our variables are added.
    """
    name = script_at("script" if plan.kind == "job" else plan.kind, plan.argv)
    cwd = Path(plan.cwd)
    text = (plan.copy_text or _text(cwd / name)) if name else ""
    for command in commands_of(text):
        tokens = [word.raw.replace("'", "").replace('"', "") for word in command.tokens]
        # It may follow `exec`, variables or a wrapper.
        starts = (at for at, word in enumerate(tokens) if Path(word).name in ("sbatch", "srun"))
        tokens = tokens[next(starts, len(tokens)) :]
        if any(_is_narrow(names, text) for names in _exported(tokens, cwd)):
            return " ".join(tokens)
    return ""


def _exported(tokens: Sequence[str], cwd: Path) -> Iterator[str]:
    """The names that a command hands on: by its own option, else by a line of the script that it submits."""
    if not tokens:
        return
    end = script_index(tokens)
    values = [
        after
        for word, after in zip(tokens, [*tokens[1:end], ""], strict=False)
        if word == "--export"
    ]
    values += [word.partition("=")[2] for word in tokens[:end] if word.startswith("--export=")]
    if not values and Path(tokens[0]).name == "sbatch":
        values = [
            names
            for script in tokens[end : end + 1]
            for names in _OF_SCRIPT.findall(_text(cwd / script))
        ]
    yield from values[-1:]


def _is_narrow(names: str, script: str) -> bool:
    """Whether `names` is a list without ours; each value that the script gives to a variable of it counts."""
    if not _HANDS_ON_OURS.isdisjoint(names.split(",")):
        return False
    unknown = [name for name in names.split(",") if re.search(r"[$`]", name.partition("=")[0])]
    if not unknown:
        return True
    variable = _VARIABLE.fullmatch(names)
    if variable is None:
        return False
    values = [
        assignment.value.text
        for assignment in read_script(script).assignments
        if assignment.name == variable["name"]
    ]
    # A variable that refers to itself or to another one may hold anything.
    return bool(values) and all("$" not in value and _is_narrow(value, "") for value in values)


def _text(file: Path) -> str:
    try:
        if file.is_file() and file.stat().st_size <= _LARGEST:
            return file.read_text("utf-8", errors="replace")
    except OSError:
        # A file that can't be read here can still be started.
        return ""
    return ""
