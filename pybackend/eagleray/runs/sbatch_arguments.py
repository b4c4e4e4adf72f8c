"""Parses `sbatch` commands, adds the variables of a run to them, and finds those that would not pass these on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from eagleray.remote.injected.outside_files import readable_text
from eagleray.runs.scripts.bash_tokens import commands_of
from eagleray.runs.scripts.script import read_script

# Options without a value; all other long ones take the next word unless they have a `=`.
_FLAGS = frozenset({
    "--contiguous", "--exclusive", "--get-user-env", "--help", "--hold", "--ignore-pbs",
    "--no-kill", "--no-requeue", "--overcommit", "--oversubscribe", "--parsable", "--quiet",
    "--reboot", "--requeue", "--spread-job", "--test-only", "--usage", "--use-min-nodes",
    "--verbose", "--version", "--wait",
})  # fmt: skip
_SHORT_FLAGS = frozenset("HIkOQshuvVW")
# A larger file is not a script.
_LARGEST = 2**20
_EXPORT_OF_SCRIPT = re.compile(r"^#SBATCH\s.*?--export[=\s]+(\S+)", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{?(?P<name>[A-Za-z_]\w*)\}?")
_PASSES_ON_OURS = frozenset({"ALL", "EAGLERAY_RUN"})


# Runs its arguments with the variables that it reads; what it reads is data and never a part of the script.
WITH_VARIABLES = r"""
while IFS= read -r said; do
  said=$(printf '%b_' "$said"); said=${said%_}
  case $said in +PYTHONPATH=*) said=${said#+}${PYTHONPATH:+:$PYTHONPATH} ;; esac
  export "$said"
done
exec "$@" </dev/null
"""


def script_index(command: Sequence[str]) -> int:
    """The index of the script; the length of the command if there is none (`--wrap`)."""
    at = 1
    while at < len(command):
        word = command[at]
        if not word.startswith("-") or word == "-":
            return at
        at += 2 if _takes_next(word) else 1
    return len(command)


def submission(
    command: Sequence[str], environ: Mapping[str, str], by_script: str = "ALL"
) -> list[str]:
    """The arguments of a submission that also exports the variables of `environ`, by name.

    They hold no value: every user of the machine can read the arguments of a process.  The user's own `--export`, on the
    command line or else in the script, stays; SLURM's default is ALL.
    """
    end = script_index(command)
    options, before = _without_export(command[1:end], by_script)
    names = ",".join([*([] if before in ("NONE", "NIL") else [before]), *environ])
    return [command[0], f"--export={names}", *options, *command[end:]]


def variables(environ: Mapping[str, str], is_remote: bool) -> str:
    """`environ` as `WITH_VARIABLES` reads it; a remote machine's own PYTHONPATH follows ours."""
    return "".join(
        f"{'+' if is_remote and name == 'PYTHONPATH' else ''}{name}={_escaped(value)}\n"
        for name, value in environ.items()
    )


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def _without_export(options: Sequence[str], by_script: str) -> tuple[list[str], str]:
    others: list[str] = []
    export = by_script
    arguments = iter(options)
    for word in arguments:
        if word == "--export":
            export = next(arguments, export)
        elif word.startswith("--export="):
            export = word.partition("=")[2]
        else:
            others.append(word)
            if _takes_next(word):
                others += [value for value in [next(arguments, None)] if value is not None]
    return others, export


def _takes_next(word: str) -> bool:
    if word.startswith("--"):
        return "=" not in word and word not in _FLAGS
    return len(word) == 2 and word[1] not in _SHORT_FLAGS


def narrow_command(script: str, copy_text: str, cwd: Path) -> str:
    """The first `sbatch` or `srun` command of a script that exports only other variables; "" if there is none.

    `script` is its path, "" without one; `copy_text` replaces its text unless that is "".  Its own lines `#SBATCH` count
    only where a command submits it: the submission of the run itself gets the variables.
    """
    text = (copy_text or readable_text(cwd / script, _LARGEST)) if script else ""
    for command in commands_of(text):
        tokens = [word.raw.replace("'", "").replace('"', "") for word in command.tokens]
        # It may follow `exec`, variables or a wrapper.
        starts = (at for at, word in enumerate(tokens) if Path(word).name in ("sbatch", "srun"))
        tokens = tokens[next(starts, len(tokens)) :]
        if any(_is_narrow(names, text) for names in _exported(tokens, cwd)):
            return " ".join(tokens)
    return ""


def _exported(tokens: Sequence[str], cwd: Path) -> Iterator[str]:
    """The lists of names that a command exports: by its own option, else by a line of the script that it submits."""
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
            for names in _EXPORT_OF_SCRIPT.findall(readable_text(cwd / script, _LARGEST))
        ]
    yield from values[-1:]


def _is_narrow(names: str, script: str) -> bool:
    """Whether `names` lacks the variables of the run; if it is a variable, whether each value from the script does."""
    if not _PASSES_ON_OURS.isdisjoint(names.split(",")):
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
