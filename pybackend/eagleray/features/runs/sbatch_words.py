"""The words of an `sbatch` command: its options, its script, what is handed on to the job."""

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


def script_index(command: Sequence[str]) -> int:
    """Where the script stands; the length of the command if there is none (`--wrap`)."""
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
    """The words of a submission that also carries `environ`.

    Values are exported by name, so that commas and quotes in them are safe.  What the person says about
    `--export`, on the command line or else in the script, stays; SLURM's own rule is ALL.
    """
    end = script_index(command)
    options, before = _without_export(command[1:end], by_script)
    names = ",".join([*([] if before in ("NONE", "NIL") else [before]), *environ])
    values = [f"{name}={value}" for name, value in environ.items()]
    return ["env", *values, command[0], f"--export={names}", *options, *command[end:]]


def _without_export(options: Sequence[str], by_script: str) -> tuple[list[str], str]:
    kept: list[str] = []
    said = by_script
    words = iter(options)
    for word in words:
        if word == "--export":
            said = next(words, said)
        elif word.startswith("--export="):
            said = word.partition("=")[2]
        else:
            kept.append(word)
            if _takes_next(word):
                kept += [value for value in [next(words, None)] if value is not None]
    return kept, said


def _takes_next(word: str) -> bool:
    if word.startswith("--"):
        return "=" not in word and word not in _FLAGS
    return len(word) == 2 and word[1] not in _SHORT_FLAGS
