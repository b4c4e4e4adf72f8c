"""The command lines of a checkout that the trial proposes a debug run for: scripts, documented lines, configurations."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm", ".sub")
# Folders that hold no example of a training.
_SKIPPED = frozenset({"node_modules", "third_party", "docker", "dockerfile", "requirements"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_PLAIN_ASSIGNMENT = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)=(?P<value>[\w./-]+)\s*(?:#.*)?")
_USE = re.compile(r"\$\{?(\w+)\b\}?")
_STARTS = re.compile(r"(?:python3?|uv|torchrun|bash|sbatch)")
_PLACEHOLDER = re.compile(r"[<>|;&`$]|\{\w+\}|\.\.\.|\bxxx\b|path/to")
_LOADS_CONFIGURATION = re.compile(r"\bload_expr_config\(")
_FENCE = re.compile(r"^\s*```.*?$\n(?P<text>.*?)^\s*```\s*$", re.MULTILINE | re.DOTALL)
_TAKES_CONFIGURATION = re.compile(
    r"--config-path\s+\$\{?\w+\}?/config/?\s+--config-name\s+\$\{?\w+"
)


@dataclass(frozen=True)
class CommandLine:
    """A command as a user types it in the checkout; `source` is the file that it comes from."""

    words: tuple[str, ...]
    source: str
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        return shlex.join([*(f"{name}={value}" for name, value in self.env.items()), *self.words])


def checkouts(folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """`folder` itself if it is a checkout, else those in it, of which `only` these names."""
    if _is_checkout(folder):
        return [folder]
    return sorted(
        one
        for one in folder.iterdir()
        if one.is_dir() and _is_checkout(one) and (not only or one.name in only)
    )


def command_lines(checkout: Path, configurations: int = 0) -> list[CommandLine]:
    """Each command line once, in a stable order; of a script that takes one of many `configurations`, so many, 0: all."""
    files = sorted(_files(checkout))
    found = [
        *_of_scripts(checkout, files, configurations),
        *_of_documents(checkout, files),
        *_of_configurations(checkout, files),
    ]
    unique = {(line.words, tuple(line.env.items())): line for line in reversed(found)}
    return [line for line in found if unique[(line.words, tuple(line.env.items()))] is line]


def sample(found: Sequence[T], most: int) -> list[T]:
    """At most `most` of them, evenly spread; 0 means all."""
    if not most or len(found) <= most:
        return list(found)
    return [found[at * len(found) // most] for at in range(most)]


def _is_checkout(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("pyproject.toml", "setup.py", "README.md"))


def _files(checkout: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(checkout):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED]
        for name in names:
            file = Path(folder) / name
            if file.is_file():
                yield file.relative_to(checkout)


def _of_scripts(checkout: Path, files: Sequence[Path], most: int) -> Iterator[CommandLine]:
    for file in files:
        if file.suffix not in SCRIPTS:
            continue
        text = _text(checkout / file)
        shell = "sbatch" if re.search(r"^#SBATCH\s", text, re.MULTILINE) else "bash"
        configurations = sample(_configurations_of(checkout / file, text), most)
        for name in configurations:
            yield CommandLine((shell, str(file), name), str(file))
        if not configurations:
            yield CommandLine((shell, str(file)), str(file))


def _configurations_of(file: Path, text: str) -> list[str]:
    """The names that a script takes as its first argument, where it reads `config/<name>.yaml` beside itself."""
    if not _TAKES_CONFIGURATION.search(text) or "$1" not in text:
        return []
    return sorted(one.stem for one in (file.parent / "config").glob("*.yaml"))


def _of_documents(checkout: Path, files: Sequence[Path]) -> Iterator[CommandLine]:
    for file in files:
        if file.suffix != ".md":
            continue
        for block in _FENCE.finditer(_text(checkout / file)):
            values = {"PWD": str(checkout)}
            for line in block["text"].replace("\\\n", " ").splitlines():
                text = _USE.sub(lambda use, known=values: known.get(use[1], use[0]), line)
                if assigned := _PLAIN_ASSIGNMENT.fullmatch(text):
                    values[assigned["name"]] = assigned["value"]
                if made := documented_line(text, str(file)):
                    yield made


def documented_line(line: str, source: str) -> CommandLine | None:
    """The command in a line of a document; None for one with placeholders or without a configuration."""
    text = line.strip().removeprefix("$ ").partition(" #")[0]
    if _PLACEHOLDER.search(text):
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    first = next((at for at, word in enumerate(words) if not _ASSIGNMENT.fullmatch(word)), 0)
    env = dict(word.split("=", 1) for word in words[:first])
    words = words[first:]
    if not words or not _STARTS.fullmatch(words[0]):
        return None
    named = any(word.startswith("--config") for word in words)
    is_script = words[0] in ("bash", "sbatch") and script_at(words) is not None
    module = "-m" in words[:3] and any("=" in word or word.startswith("--") for word in words[3:])
    if not (named or is_script or module):
        return None
    return CommandLine(tuple(words), source, env)


def script_at(words: Sequence[str]) -> int | None:
    """The place of the script among the words of `bash` or `sbatch`, whose options come before it."""
    return next((at for at, word in enumerate(words) if at and word.endswith(SCRIPTS)), None)


def _of_configurations(checkout: Path, files: Sequence[Path]) -> Iterator[CommandLine]:
    """`python3 PROGRAM --config FILE` for each YAML beside programs that load their configuration so."""
    programs: dict[Path, list[Path]] = {}
    for file in files:
        if file.suffix == ".py" and _LOADS_CONFIGURATION.search(_text(checkout / file)):
            programs.setdefault(file.parent, []).append(file)
    for file in files:
        beside = programs.get(file.parent)
        if file.suffix in (".yaml", ".yml") and beside:
            program = max(beside, key=lambda one: _likeness(one.stem, file.stem))
            words = ("python3", str(program), "--config", str(file), "scheduler.type=local")
            yield CommandLine(words, str(file))


def _likeness(program: str, configuration: str) -> tuple[int, bool, bool]:
    """How many letters two names have in common from their beginning; of several programs, one that trains by RL."""
    pairs = zip(program, configuration, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return common, "eval" not in program, program.endswith("rl")


def _text(file: Path) -> str:
    return file.read_text("utf-8", "replace")
