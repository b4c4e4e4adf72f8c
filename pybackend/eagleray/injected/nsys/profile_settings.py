"""What a run wants nsys to record, and which workers are meant by that."""

from __future__ import annotations

import json

from ..patterns import first_match, split_patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

# Says in a worker's environment that it is meant, and by which pattern; "" where it would only inherit that.
VARIABLE = "EAGLERAY_PROFILE"
# In place of a pattern: nobody but the worker's own framework has asked for nsys.
BY_FRAMEWORK = "(nsight)"


class ProfileSettings:
    """One reading of the settings; what is missing in them has the value that people mean by saying nothing."""

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
        self.reports = str(values.get("reports") or "")
        # The version of the nsys with which reports will be read, "" for none; None: nobody has said.
        reader = values.get("reader")
        self.reader = None if reader is None else str(reader)

    def pattern(self, names: Iterable[str]) -> str:
        """The first pattern that fits one of a worker's names; "" if it is not meant."""
        return first_match(self.workers, names)[0]

    def means_rank(self, rank: int | None) -> bool:
        """Whether a worker of this rank is meant; one whose rank is not known when it starts is not."""
        return self.ranks is None or rank in self.ranks


def profile_request(pattern: str, module: str, qualified: str, actor: str) -> str:
    """The value of the variable for a worker that is meant.

    Ray expands `$NAME` in the variables of a runtime_env, so there is no `$`.
    """
    said = {"pattern": pattern, "module": module, "class": qualified, "name": actor}
    return json.dumps(said, separators=(",", ":")).replace("$", "\\u0024")


def read_profile_request(environ: Mapping[str, str]) -> dict[str, str] | None:
    """What the variable says of this worker, None if it is not meant."""
    text = environ.get(VARIABLE)
    return {str(key): str(value) for key, value in json.loads(text).items()} if text else None
