"""Headings above dumps: `=== Rank 3: http://node-1:4118 ===`, `train-0:`, `$ kubectl exec train-0 -- py-spy dump --pid 1`.

They name the process, its pod or its node.  Two dumps below different headings may be of two processes with one PID.
"""

from __future__ import annotations

import re

from attrs import define

_LONGEST = 300
_SIGNS = re.compile(r"[>\s]*(?:[=#*~<-]{2,}|[#$%+](?=\s))")
_PROMPT = re.compile(r"[>\s]*(?:\[[\w.-]+@[\w.-]+[^\]]*\]|[\w.-]+@[\w.-]+:\S*)\s*[$#%]")
_RANK = re.compile(r"(?<!local.)(?<![a-z])rank[ _=:.-]?(\d{1,6})(?![0-9])", re.IGNORECASE)
# Parts that differ between two dumps of one process: times, counts, PIDs, files for the output, and the tools themselves.
_VARYING = re.compile(
    r"\d{4}-\d\d-\d\d\S*|\d+(?::\d\d)+\S*|(?:-p|-{0,2}pid)[ =:#]*\d+|(?:>+|\btee)\s*\S+"
    r"|\b(?:dump|sample|snapshot|stack|trace|try|attempt|run|take|sleep|step|epoch|iteration)s?\W*\d+\b|\b\d+(?:st|nd|rd|th)\b"
    r"|\d+(?:\.\d+)?\s*(?:ms|s|secs?|seconds?|m|min|mins|minutes?|h|hours?)\b"
    r"|\b(?:dump(?:ed|s)?|samples?|snapshots?|stacks?|traces?|again|later|after|before|now|then|and|the|a|in|at|of|still|same|first"
    r"|second|third|last|next|another|sudo|sleep|watch|time|py-spy|pystack|gdb|pid|stdout|stderr)\b",
    re.IGNORECASE,
)
_OPTION = re.compile(r"(?<!\S)-\S*")
_WORD = re.compile(r"\w[\w.@:/-]*")
# A longer line is a sentence, of which only names with a digit are part of a name.
_MOST_NAMES = 4


@define
class Heading:
    """The words of a heading that may name a process, and its rank; `pid` is of the first process below it, -1 before."""

    names: tuple[str, ...] = ()
    rank: int | None = None
    pid: int = -1

    def rank_of(self, pid: int) -> int | None:
        """The rank of the process `pid`: those that it has started are below its heading, too."""
        if self.pid < 0:
            self.pid = pid
        return self.rank if self.pid == pid else None


def heading_in(line: str) -> Heading | None:
    text = line.strip().strip("*_`").rstrip()
    if not text or len(text) > _LONGEST:
        return None
    is_sentence = not (_SIGNS.match(line) or _PROMPT.match(line))
    ranks = set(_RANK.findall(text))
    if is_sentence and not text.endswith(":") and not (ranks and _RANK.fullmatch(text)):
        return None
    names = tuple(dict.fromkeys(_WORD.findall(_OPTION.sub(" ", _VARYING.sub(" ", text)))))
    if is_sentence and len(names) > _MOST_NAMES:
        names = tuple(each for each in names if re.search(r"\d", each))
        ranks = set()
    if not names and not ranks:
        return None
    return Heading(names, int(ranks.pop()) if len(ranks) == 1 else None)
