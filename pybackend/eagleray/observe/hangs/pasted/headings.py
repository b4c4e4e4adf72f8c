"""Headings above dumps: `=== Rank 3: http://node-1:4118 ===`, `train-0:`, `$ kubectl exec train-0 -- py-spy dump --pid 1`.

They name the process, its pod or its node.  Two dumps below different headings may be of two processes with one PID.
"""

from __future__ import annotations

import re

from attrs import define

_LONGEST = 300
_SIGNS = re.compile(r"[>\s]*(?:[=#*~<-]{2,}|[#$%+](?=\s)|\[?[\w.-]+@[\w.-]+)")
_TOOLS = ("py-spy ", "pystack ", "gdb ", " exec ", "ssh ")
_LOGGED = re.compile(r"\d\d:\d\d:\d\d|\b(?:DEBUG|INFO|WARN|WARNING|ERROR)\b")
_RANK = re.compile(r"(?<!local.)(?<![a-z])rank[ _=:.-]?(\d{1,6})(?![0-9])", re.IGNORECASE)
# Parts that differ between two dumps of one process: times, counts, PIDs, files for the output, and the tools themselves.
_VARYING = re.compile(
    r"\d{4}-\d\d-\d\d\S*|\d+(?::\d\d)+\S*|(?:-p|-{0,2}pid)[ =:#]*\d+|(?<=\S)\s+(?:>+|tee\b)\s*\S+|\bt\s*[=+]\s*\d+\S*"
    r"|\b(?:dump|sample|snapshot|stack|trace|try|attempt|run|take|sleep|step|epoch|iteration)s?\W*\d+\b|\b\d+(?:st|nd|rd|th)\b"
    r"|\d+(?:\.\d+)?\s*(?:ms|s|secs?|seconds?|m|min|mins|minutes?|h|hours?)\b"
    r"|\b(?:dump(?:ed|s)?|samples?|snapshots?|stacks?|traces?|again|later|after|before|now|then|and|the|a|in|at|of|still|same|first"
    r"|second|third|last|next|another|sudo|sleep|watch|time|py-spy|pystack|gdb|pid|stdout|stderr)\b",
    re.IGNORECASE,
)
# Words of a later sample, which is of the same processes unless another place is named.
_REPEATS = re.compile(r"\b(?:again|later|after|same|still)\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:nodes?|hosts?|pods?|machines?|containers?|servers?|workers?|others?)\b", re.IGNORECASE
)
_OPTION = re.compile(r"(?<!\S)-\S*")
_NOTE = re.compile(r"\s*\([^()]*\)$")
_WORD = re.compile(r"\w(?:[\w.@:/-]*\w)?")
# A longer line is a sentence, of which only names with a digit are part of a name.
_MOST_NAMES = 4


@define
class Heading:
    """The parts of a heading that may name a process, and its rank; `below` is the last other line above the dump.

    `pid` is of the first process below it, -1 before.
    """

    marked: tuple[str, ...] = ()
    rank: int | None = None
    below: str = ""
    pid: int = -1
    # The names of all headings before it, and its own.
    earlier: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        plain = _names_in(self.below, is_sentence=True)
        return (*self.marked, *(each for each in plain if re.search(r"[^\W\d]", each)))

    def rank_of(self, pid: int) -> int | None:
        """The rank of the process `pid`: those that it has started are below its heading, too."""
        if self.pid < 0:
            self.pid = pid
        return self.rank if self.pid == pid else None

    def above(self, line: str) -> Heading:
        """Returns the heading of what follows `line`, a new one if that is a heading itself."""
        text = line.strip().strip("*_").rstrip()
        if not text or len(text) > _LONGEST or text.startswith("```"):
            return self
        # Without what is in parentheses, such as its node.
        has_rank = _RANK.fullmatch(_NOTE.sub("", text)) is not None
        has_sign = _SIGNS.match(line) is not None or any(tool in text for tool in _TOOLS)
        if has_sign or text.endswith(":") or has_rank:
            names = _names_in(text, is_sentence=not has_sign)
            is_whole = has_sign or names == _names_in(text, is_sentence=False)
            ranks = set(_RANK.findall(text)) if is_whole else set()
            if (names or ranks) and not self._is_repeated(text, names):
                rank = int(ranks.pop()) if len(ranks) == 1 else None
                return Heading(names, rank, earlier=self.earlier.union(names))
        elif not _LOGGED.search(text):
            self.below = text
        return self

    def _is_repeated(self, text: str, names: tuple[str, ...]) -> bool:
        """Whether `text` is above a later sample of the processes below this heading, and names no other: `30 s later, same pids:`."""
        return (
            _REPEATS.search(text) is not None
            and not _PLACE.search(text)
            and self.earlier <= set(self.marked)
            and not any(each in self.earlier or re.search(r"\d", each) for each in names)
        )


def _names_in(text: str, *, is_sentence: bool) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(_WORD.findall(_OPTION.sub(" ", _VARYING.sub(" ", text)))))
    if is_sentence and len(names) > _MOST_NAMES:
        return tuple(each for each in names if re.search(r"\d", each))
    return names
