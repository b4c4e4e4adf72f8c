"""The settings of nsys in a run."""

from __future__ import annotations

from .worker_patterns import first_match, split_patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class ProfileSettings:
    """The parsed settings; a value that is missing gets its usual default."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.workers = split_patterns(values.get("workers") or [])
        ranks = values.get("ranks")
        self.ranks = None if ranks is None else [int(rank) for rank in ranks]
        self.when = str(values.get("when") or "always")
        self.seconds = float(values.get("seconds") or 0)
        self.trace = str(values.get("trace") or "cuda,nvtx,osrt")
        options = dict(values.get("options") or {})
        self.options = {str(name): str(value) for name, value in options.items()}
        self.nsys = str(values.get("nsys") or "")
        # The nsys of the machine that starts the run; a node without a program at that path searches.
        self.preferred_nsys = str(values.get("preferred_nsys") or "")
        self.reports = str(values.get("reports") or "")
        # The version of the nsys with which reports will be read, "" for none; None if unknown.
        reader = values.get("reader")
        self.reader = None if reader is None else str(reader)

    def pattern(self, names: Iterable[str]) -> str:
        """The first pattern that matches one of a worker's names; "" if none does."""
        return first_match(self.workers, names)[0]

    def selects_rank(self, rank: int | None) -> bool:
        """Whether a worker of this rank is recorded; one whose rank is unknown at its start isn't, if ranks are selected."""
        return self.ranks is None or rank in self.ranks
