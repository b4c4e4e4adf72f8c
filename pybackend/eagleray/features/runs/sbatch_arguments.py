"""Parses `sbatch` commands: options, script, and the arguments that are passed to the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Options that are whole without a value; all other long ones take the next word unless they have a `=`.
_FLAGS = frozenset(
    {
        "--contiguous",
        "--exclusive",
        "--get-user-env",
        "--help",
        "--hold",
        "--ignore-pbs",
        "--no-kill",
        "--no-requeue",
        "--overcommit",
        "--oversubscribe",
        "--parsable",
        "--quiet",
        "--reboot",
        "--requeue",
        "--spread-job",
        "--test-only",
        "--usage",
        "--use-min-nodes",
        "--verbose",
        "--version",
        "--wait",
    }
)
_SHORT_FLAGS = frozenset("HIkOQshuvVW")

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
    """The words of a submission that also hands on the variables of `environ`, by name.

    No value is among them: every user of the machine can read the words of a process.  What the user says
    about `--export`, on the command line or else in the script, stays; SLURM's own rule is ALL.
    """
    end = script_index(command)
    options, before = _without_export(command[1:end], by_script)
    names = ",".join([*([] if before in ("NONE", "NIL") else [before]), *environ])
    return [command[0], f"--export={names}", *options, *command[end:]]


def variables(environ: Mapping[str, str], is_remote: bool) -> str:
    """`environ` as `WITH_VARIABLES` reads it; on a far machine its own PYTHONPATH stays behind ours."""
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
