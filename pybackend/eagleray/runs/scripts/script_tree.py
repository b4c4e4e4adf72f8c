"""A run script and the scripts that it starts, each with its lines in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from eagleray.runs.scripts.launch_lines import Launch, LineWord, ScriptStart
from eagleray.runs.scripts.script import ALL_ARGUMENTS, Script, read_script

_DEEPEST = 4
_MOST_SCRIPTS = 40


@frozen(eq=False)
class ScriptNode:
    """A script by the name that messages use; `path` is absolute.  `inner` are the scripts that it starts."""

    name: str
    path: str
    script: Script
    inner: tuple[tuple[ScriptStart, ScriptNode], ...] = ()

    def launches(self) -> Iterator[tuple[ScriptNode, Launch]]:
        """All Python lines of this script and of those that it starts, in their order."""
        lines: list[tuple[int, Launch | ScriptNode]] = [
            *((launch.end, launch) for launch in self.script.launches),
            *((start.end, node) for start, node in self.inner),
        ]
        for _, line in sorted(lines, key=lambda line: line[0]):
            if isinstance(line, ScriptNode):
                yield from line.launches()
            else:
                yield self, line

    def path_to(self, node: ScriptNode) -> tuple[ScriptNode, ...]:
        """The scripts from this one to `node`, both included; empty if it does not start that."""
        if node is self:
            return (self,)
        for _, inner in self.inner:
            if path := inner.path_to(node):
                return (self, *path)
        return ()


@frozen
class ScriptFile:
    """The file of a script, by its absolute path, and its text."""

    name: str
    path: str
    text: str


class ScriptTree:
    """Reads a script and those that it starts, bounded in depth and number; `find` gives the file of a start.

    A script that starts itself, also by way of others, is followed once.
    """

    def __init__(self, find: Callable[[ScriptStart, Path], ScriptFile | None]) -> None:
        self._find = find
        self._count = 0

    def of(self, file: ScriptFile, arguments: Sequence[str]) -> ScriptNode:
        return self._node(file, arguments, ())

    def _node(
        self, file: ScriptFile, arguments: Sequence[str], above: tuple[str, ...]
    ) -> ScriptNode:
        self._count += 1
        script = read_script(file.text, arguments)
        above = (*above, file.path)
        inner = []
        for start in script.starts:
            inner_file = self._find(start, Path(file.path).parent)
            cycle = inner_file is None or inner_file.path in above or len(above) > _DEEPEST
            if inner_file is not None and not cycle and self._count < _MOST_SCRIPTS:
                given = _arguments(start.arguments, arguments)
                inner.append((start, self._node(inner_file, given, above)))
        return ScriptNode(file.name, file.path, script, tuple(inner))


def _arguments(tokens: Sequence[LineWord], outer: Sequence[str]) -> list[str]:
    """The arguments of an inner script up to the first one of unknown value."""
    given: list[str] = []
    for word in tokens:
        if word.text in ALL_ARGUMENTS:
            given += outer
        elif word.is_resolved:
            given.append(word.text)
        else:
            break
    return given
