"""The Python program of a training line: its file, and what it and the user's modules that it calls do."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from eagleray.features.presets.files import near, roots, text_of
from eagleray.features.presets.launch import Launch
from eagleray.features.presets.programs import Program, read_program

# One's own modules between the program and the framework, and how deep they import each other.
_MOST_FILES = 24
_DEEPEST = 4
# verl's recipes are a repository that is used as the package of this name.
_REPOSITORY = "recipe"


@dataclass(frozen=True)
class ProgramFile:
    """`module` is the dotted name; of a program that is started by its path it ends with that.

    `program` is None if the file was not found; then nothing but its name is known.
    """

    module: str
    path: Path | None = None
    program: Program | None = None


class ProgramFiles:
    """Finds and reads programs below `folders` and above them.

    Modules of the frameworks' `packages` are not read: importing them trains nothing.  Each folder is asked once for a
    top-level name, since file servers take their time.
    """

    def __init__(self, folders: Sequence[Path], packages: Iterable[str]) -> None:
        self._folders = folders
        self._skipped = {*packages, *sys.stdlib_module_names}
        self._tops: dict[Path, bool] = {}

    def of(self, launch: Launch) -> ProgramFile:
        """The program that `launch` starts."""
        if launch.module:
            path = self._module(launch.target, self._folders)
        else:
            path = near(launch.target, self._folders)
        if path is None:
            return ProgramFile(launch.target if launch.module else "")
        module = launch.target if launch.module else ".".join(path.with_suffix("").parts[1:][-6:])
        return ProgramFile(module, path, self._with_own_modules(path, module))

    def _with_own_modules(self, path: Path, module: str) -> Program:
        found = program = read_program(text_of(path), module)
        seen = {path}
        waiting = deque(self._own(program, path, 1))
        while waiting and len(seen) < _MOST_FILES:
            file, name, depth = waiting.popleft()
            if file in seen:
                continue
            seen.add(file)
            program = read_program(text_of(file), name)
            found |= program
            if depth < _DEEPEST:
                waiting.extend(self._own(program, file, depth + 1))
        return found

    def _own(self, program: Program, path: Path, depth: int) -> Iterator[tuple[Path, str, int]]:
        """The user's modules of which `program` uses something."""
        for name in sorted(program.uses):
            module = name if name.partition(".")[0] not in self._skipped else ""
            while module:
                if file := self._module(module, [path.parent, *self._folders]):
                    yield file, module, depth
                    break
                module = module.rpartition(".")[0]

    def _module(self, module: str, folders: Sequence[Path]) -> Path | None:
        """The file of a module."""
        parts = module.split(".")
        for tail in (parts, parts[1:] if parts[0] == _REPOSITORY else []):
            for root in roots(folders) if tail and all(tail) else ():
                base = root.joinpath(*tail)
                if not self._has(root / tail[0]):
                    continue
                for file in (base.with_name(f"{base.name}.py"), base / "__main__.py"):
                    if file.is_file():
                        return file
        return None

    def _has(self, top: Path) -> bool:
        if top not in self._tops:
            self._tops[top] = top.is_dir() or top.with_name(f"{top.name}.py").is_file()
        return self._tops[top]
