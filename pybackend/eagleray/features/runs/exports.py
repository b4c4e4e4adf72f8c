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
        words = [word.raw.replace("'", "").replace('"', "") for word in command.words]
        # It may follow `exec`, variables or a wrapper.
        starts = (at for at, word in enumerate(words) if Path(word).name in ("sbatch", "srun"))
        words = words[next(starts, len(words)) :]
        if any(_is_narrow(names, text) for names in _exported(words, cwd)):
            return " ".join(words)
    return ""


def _exported(words: Sequence[str], cwd: Path) -> Iterator[str]:
    """The names that a command hands on: by its own option, else by a line of the script that it submits."""
    if not words:
        return
    end = script_index(words)
    said = [
        after for word, after in zip(words, [*words[1:end], ""], strict=False) if word == "--export"
    ]
    said += [word.partition("=")[2] for word in words[:end] if word.startswith("--export=")]
    if not said and Path(words[0]).name == "sbatch":
        said = [
            one
            for script in words[end : end + 1]
            for one in _OF_SCRIPT.findall(_text(cwd / script))
        ]
    yield from said[-1:]


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
