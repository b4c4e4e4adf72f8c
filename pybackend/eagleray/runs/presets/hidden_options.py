"""Says which token of a training line may hold an option that the line doesn't show: `${EXTRA_ARGS[@]}`, `$(options)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from eagleray.runs.scripts.launch_lines import LineWord
from eagleray.runs.scripts.script_tree import ScriptNode

_WHOLE = re.compile(r"\$\{?(?P<name>[A-Za-z_]\w*)(?P<array>\[[@*]\])?(?P<more>[:+-].*)?\}?")
_OF_OPTIONS = re.compile(r"(?:.*_)?(?:ARG|ARGUMENT|OPT|OPTION|EXTRA|FLAG)S?", re.I)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
# Commands that print values and no options.
_VALUES = re.compile(r"(?:\$\(|`)\s*(?:seq|nproc|hostname|date|pwd|basename|dirname|wc|expr)\b")
_DEEPEST = 5


def token_that_may_hold(option: str, tokens: Sequence[LineWord], root: ScriptNode | None) -> str:
    """The first such token, "" if the scripts show that there is none.

    1. A token that is not the value of the option before it and that is a variable or a command.
    2. A variable that holds the option or such a token, in one of its assignments.
    3. A variable without an assignment: the environment may hold it.  No array comes from there; it may be set by a
       script without a file here, or by `read`.
    """
    scripts = Scripts(list(_nodes(root)) if root else [])
    texts = ["", *(word.text if word.is_resolved else f"\0{word.text}" for word in tokens)]
    held = (
        word[1:]
        for before, word in pairwise(texts)
        if word.startswith("\0") and scripts.may_hold(option, before, word[1:])
    )
    return next(held, "")


def _nodes(node: ScriptNode) -> Iterator[ScriptNode]:
    yield node
    for _, inner in node.inner:
        yield from _nodes(inner)


class Scripts:
    """The assignments of a script and of those that it starts or reads."""

    def __init__(self, nodes: Sequence[ScriptNode]) -> None:
        self._scripts = [node.script for node in nodes]
        self._are_complete = all(_reads_all(node) for node in nodes)

    def may_hold(self, option: str, before: str, word: str, depth: int = 0) -> bool:
        bare = word.strip("\"'")
        if bare.startswith(("$(", "`")):
            return not (_is_option(before) or _VALUES.match(bare))
        variable = _WHOLE.fullmatch(bare)
        if variable is None or (_is_option(before) and not _is_of_options(variable)):
            return False
        return option in bare or depth > _DEEPEST or self._holds(option, variable, depth)

    def _holds(self, option: str, variable: re.Match[str], depth: int) -> bool:
        raws = [
            _COMMENT.sub("", assignment.raw).strip("()\"'")
            for script in self._scripts
            for assignment in script.assignments
            if assignment.name == variable["name"]
        ]
        if not raws:
            return not (variable["array"] and self._are_complete and self._only_reads(variable))
        return any(
            word.partition("=")[0] == option or self.may_hold(option, before, word, depth + 1)
            for raw in raws
            for before, word in pairwise(["", *raw.split()])
        )

    def _only_reads(self, variable: re.Match[str]) -> bool:
        """Whether no command such as `read -ra NAME` names the variable."""
        pattern = re.compile(rf"(?<![\w${{]){variable['name']}\b")
        return not any(pattern.search(_COMMENT.sub("", each.text)) for each in self._scripts)


def _reads_all(node: ScriptNode) -> bool:
    """Whether all scripts were read that it reads with `source`."""
    starts = [start for start, _ in node.inner]
    return all(start in starts for start in node.script.starts if start.sourced)


def _is_option(word: str) -> bool:
    return word.startswith("--") and "=" not in word


def _is_of_options(variable: re.Match[str]) -> bool:
    return bool(variable["array"] or _OF_OPTIONS.fullmatch(variable["name"]))
