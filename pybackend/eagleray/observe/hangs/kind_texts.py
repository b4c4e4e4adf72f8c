"""The kinds of hangs by the names that the page of a picture has for them, and how sure a reading is.

`extension/observe/hangs/page/names.ts` has the same for the page.
"""

from __future__ import annotations

from eagleray.common.l10n import later, t, translated
from eagleray.observe.hangs.model import ReadingRow, VerdictRow
from eagleray.observe.hangs.verdict import Kind

KINDS = {
    Kind.CLEANUP_DEADLOCK: later("Deadlock while cleaning up"),
    Kind.EXCEPTION_IN_FLIGHT: later("Exception in flight"),
    Kind.COLLECTIVE_MISMATCH: later("Different collectives"),
    Kind.WRONG_PROCESS_GROUP: later("Different process groups"),
    Kind.STRAGGLER: later("Straggler"),
    Kind.TRANSPORT: later("Network or GPU"),
    Kind.RANK_DEAD: later("Rank has ended"),
    Kind.DEADLOCK: later("Deadlock"),
    Kind.WAIT_CHAIN: later("Waits"),
    Kind.DATA_LOADER: later("Data loader"),
    Kind.RAY_GET_CYCLE: later("Cycle of ray.get"),
    Kind.STARVATION: later("Resources missing"),
    Kind.GIL_HELD: later("GIL held"),
    Kind.ASYNCIO: later("Event loop waits"),
    Kind.INITIALIZATION: later("Initialization"),
    Kind.PIPELINE_MISMATCH: later("Messages that don't match"),
    Kind.STOPPED: later("Stopped by a signal"),
    Kind.DEBUGGER: later("Paused by a debugger"),
    Kind.SLOW: later("Slow, not stuck"),
    Kind.UNKNOWN: later("Unknown"),
}
_NAMES = {kind.value: name for kind, name in KINDS.items()}
_LIKELIHOODS = (
    (0.85, later("very likely")),
    (0.7, later("likely")),
    (0.5, later("no proof of a hang")),
    (0.0, later("unlikely")),
)


def kind_text(reading: ReadingRow | VerdictRow) -> str:
    """`Different collectives, very likely (90 %)`."""
    name = _NAMES.get(reading.kind)
    # A saved picture may be of a newer version.
    kind = translated(name) if name else reading.kind
    if reading.kind == Kind.UNKNOWN.value:
        return kind
    likelihood = next(text for least, text in _LIKELIHOODS if reading.confidence >= least)
    return t(
        "{kind}, {likelihood} ({percent} %)",
        kind=kind,
        likelihood=translated(likelihood),
        percent=round(100 * reading.confidence),
    )
