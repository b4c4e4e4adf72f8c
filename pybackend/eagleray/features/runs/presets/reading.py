"""The one place that reads files for a debug run: script, program, configuration, versions; none is executed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from eagleray.features.runs.plan import RunPlan
from eagleray.features.runs.presets.facts import Facts
from eagleray.features.runs.presets.launch import Launch, Said, launch_of, value_of
from eagleray.features.runs.presets.recognise import (
    Version,
    candidates,
    chosen,
    metadata_version,
    version_in,
)
from eagleray.features.runs.presets.script import Script, read_script
from eagleray.features.runs.presets.table import Table
from eagleray.features.runs.presets.table_file import tables
from eagleray.features.runs.presets.verifying import looked_up

# Scripts, programs and configurations are small; what is larger is none.
_LARGEST = 2**18
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "sbatch"})
_COMMAND = "COMMAND"
# How many folders above the program are looked at for the framework's own files.
_ABOVE = 8


def facts(plan: RunPlan, python: str, now: datetime) -> Facts:
    """What can be read of the program that `plan` starts; `python` is the interpreter whose packages it has."""
    known = [table for table in tables() if table.package]
    cwd = Path(plan.cwd)
    script_word = _script_word(plan, cwd)
    launch = launch_of([Said(word) for word in plan.command])
    script: Script | None = None
    in_variable = ""
    if script_word:
        file = cwd / script_word
        text = plan.copy_text or _text(file)
        arguments = plan.command[plan.command.index(script_word) + 1 :]
        script = read_script(text, arguments, lambda one: bool(_found(one, "", cwd, file, known)))
        launch = script.launch
        if launch is None and plan.env.get(_COMMAND):
            inner = read_script(plan.env[_COMMAND])
            launch, in_variable = inner.launch, _COMMAND if inner.launch else ""
    near = [cwd, *([(cwd / script_word).parent] if script_word else [])]
    found = _found(launch, script.text if script else "", cwd, near[-1] / "_", known)
    roots = list(_roots(near))
    versions = {table.package: _version(found, table.package, roots, python) for table in found}
    recognised = chosen(found, versions, launch.target if launch else "")
    recognised, keys = looked_up(recognised, found, launch, near, python, _hints(plan, script))
    return Facts(
        launch=launch,
        recognised=recognised,
        script=script,
        script_word=script_word,
        in_variable=in_variable,
        config=_config(launch, near),
        stamp=now.strftime("%m%d-%H%M%S"),
        keys=keys,
    )


def _hints(plan: RunPlan, script: Script | None) -> list[str]:
    """What may be the name of a configuration: arguments of the script, then the values that it assigns."""
    assigned = [one.raw for one in script.assignments] if script else []
    return [*plan.command, *(name for raw in assigned for name in re.findall(r"[\w.-]+", raw))]


def _script_word(plan: RunPlan, cwd: Path) -> str:
    """The word of the command that names a shell script."""
    first = Path(plan.argv[0]).name
    if first not in _SHELLS:
        return plan.argv[0] if _is_shell_script(cwd / plan.argv[0]) else ""
    words = (word for word in plan.argv[1:] if not word.startswith("-"))
    return next((word for word in words if (cwd / word).is_file()), "")


def _is_shell_script(file: Path) -> bool:
    if not file.is_file():
        return False
    first = _text(file).partition("\n")[0]
    return first.startswith("#!") and any(shell in first for shell in _SHELLS)


def _found(
    launch: Launch | None, script: str, cwd: Path, script_file: Path, known: Sequence[Table]
) -> tuple[Table, ...]:
    program = ""
    if launch is not None and not launch.module:
        near = _near(launch.target, [cwd, script_file.parent])
        program = _text(near) if near else ""
    return candidates(launch, program, script, known)


def _near(written: str, folders: Iterable[Path]) -> Path | None:
    """The file that a script means by `written`, whose beginning may be a variable that is not known."""
    known = re.split(r"[})\"]", written)[-1]
    rest = known.lstrip("/") if known != written else written
    tried = (folder / rest for folder in _roots(folders)) if rest else iter(())
    return next((file for file in tried if file.is_file()), None)


def _roots(folders: Iterable[Path]) -> Iterator[Path]:
    """The folders and those above them, each once."""
    seen: set[Path] = set()
    for folder in folders:
        for one in [folder, *folder.parents][:_ABOVE]:
            if one not in seen:
                seen.add(one)
                yield one


def _version(found: Sequence[Table], package: str, roots: Sequence[Path], python: str) -> Version:
    """The checkout that the program runs in comes before what is installed, as it does for Python."""
    for table in found:
        if table.package != package:
            continue
        for root in roots:
            if not (root / package).is_dir():
                continue
            for path, pattern in table.version_files:
                if version := version_in(_text(root / path), pattern):
                    return Version(_release(found, package, root, version), str(root / path))
        for metadata in _metadata(table.distribution, python):
            if version := metadata_version(_text(metadata)):
                return Version(version, str(metadata.parent))
    return Version("", "")


def _release(found: Sequence[Table], package: str, root: Path, version: str) -> str:
    """The version of the checkout `root`, which may be a release whose version file names an earlier one."""
    releases = [one for table in found if table.package == package for one in table.releases]
    for release in releases:
        text = _text(root / release.path) if release.says == version else ""
        if re.search(release.pattern, text, re.MULTILINE):
            return release.version
    return version


def _metadata(distribution: str, python: str) -> Iterator[Path]:
    """The metadata of a package installed for the interpreter `python`, found by its place."""
    folder = Path(python).parent.parent if "/" in python else None
    name = re.sub(r"[-_.]+", "_", distribution)
    if folder:
        yield from sorted(
            folder.glob(f"lib/python3*/site-packages/{name}-[0-9]*.dist-info/METADATA")
        )


def _config(launch: Launch | None, near: Sequence[Path]) -> str:
    said = value_of(launch.words, "--config", "argparse") if launch else None
    file = _near(said[1], near) if said and said[1] else None
    return _text(file) if file else ""


def _text(file: Path) -> str:
    """The text of a file, "" if it cannot be read, is too large or is no text."""
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return ""
        return file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        return ""
