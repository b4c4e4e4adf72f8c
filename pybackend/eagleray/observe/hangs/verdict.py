"""A verdict: what kind of hang it is, whose fault, and how sure that is."""

from __future__ import annotations

from enum import Enum

from attrs import field, frozen

from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.remote.sampling.rank_sets import RankSet


class Kind(Enum):
    """The kinds of a hang; `--json` prints the values."""

    CLEANUP_DEADLOCK = "cleanup-deadlock"
    EXCEPTION_IN_FLIGHT = "exception-in-flight"
    COLLECTIVE_MISMATCH = "collective-mismatch"
    WRONG_PROCESS_GROUP = "wrong-process-group"
    STRAGGLER = "straggler"
    TRANSPORT = "transport"
    RANK_DEAD = "rank-dead"
    DEADLOCK = "deadlock"
    WAIT_CHAIN = "wait-chain"
    DATA_LOADER = "data-loader"
    RAY_GET_CYCLE = "ray-get-cycle"
    STARVATION = "starvation"
    GIL_HELD = "gil-held"
    ASYNCIO = "asyncio"
    INITIALIZATION = "initialization"
    PIPELINE_MISMATCH = "pipeline-mismatch"
    STOPPED = "stopped"
    DEBUGGER = "debugger"
    SLOW = "slow"
    UNKNOWN = "unknown"


@frozen
class Reading:
    """One way to read the evidence; `confidence` is between 0 and 1, and `next_step` what the user can do.

    `is_proof`: nothing else shows the same evidence.  Else it holds only if none of `processes` may still work.
    """

    kind: Kind
    culprits: RankSet
    confidence: float
    sentence: str
    next_step: str
    world: str = ""
    is_proof: bool = False
    processes: tuple[SampledProcess, ...] = field(factory=tuple, eq=False, repr=False)


# Below this no kind is named.
LEAST_CONFIDENCE = 0.5
# The confidence of a reading that states facts, since a program that works may show the same.
FACTS = 0.5


@frozen
class HangVerdict:
    """The best reading, or `unknown` with the two best in `readings`."""

    reading: Reading
    readings: tuple[Reading, ...] = field(factory=tuple)
