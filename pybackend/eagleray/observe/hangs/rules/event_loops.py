"""Event loops all of whose tasks wait (`asyncio`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, listed, t
from eagleray.observe.hangs import library_waits, wording
from eagleray.observe.hangs.activity import Doing, innermost
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.rules.rule_context import Scene, about, reading
from eagleray.observe.hangs.verdict import FACTS, Kind, Reading
from eagleray.remote.sampling.frames import is_users
from eagleray.remote.sampling.wait_records import CLIENT, CONNECTED

_MOST = 3


def locked_tasks(scene: Scene) -> Iterator[Reading]:
    """Tasks that wait for locks of asyncio which only such tasks hold."""
    for each in scene.evidence.processes if scene.is_first else ():
        if chains := each.reading.locked if each.reading else ():
            places = [innermost(chain.frames, is_users) for chain in chains]
            text = counted(
                sum(chain.tasks for chain in chains),
                "A task of {process} waits for a lock that it holds{place}.",
                "{n} tasks of {process} wait for locks that only they hold{place}.",
                process=wording.ranks([each]),
                place=wording.place_of(list(dict.fromkeys(filter(None, places)))),
            )
            step = t("Take the locks in one order, and none of them twice.")
            yield reading(scene, Kind.DEADLOCK, [each], 0.85, text, step, is_proof=True)


def event_loops(scene: Scene) -> Iterator[Reading]:
    """No process waits in a collective, and event loops have nothing to do."""
    loops = [
        each
        for each in scene.world.doing(Doing.IN_EVENT_LOOP)
        if not (each.has_timer or _serves(each))
    ]
    # In a single sample any loop without work looks so.
    if loops and not scene.waiting and not scene.is_single_sample:
        text = counted(
            len(loops),
            "The event loop of {ranks} waits.",
            "The event loops of {ranks} wait.",
            **about(scene, loops),
        )
        # Other threads, a server or a signal may wake it.
        text += library_waits.in_other_threads(loops) + _connections(loops)
        yield event_loop_reading(scene, loops, 0.45 if scene.unread else FACTS, text)


def of_timers(processes: Sequence[SampledProcess]) -> tuple[str, str] | None:
    """A sentence and a step on the event loops that wake by themselves, None without any."""
    loops = [each for each in processes if each.has_timer and not _serves(each)]
    if not loops:
        return None
    text = t("A timer will wake the event loop of {ranks}.", ranks=wording.ranks(loops))
    if awaited := wording.awaited(loops):
        return f"{text} {awaited}.", t("A pause isn't a hang: see for what it waits.")
    return text, t("Read from inside what its tasks await (--inside).")


def _connections(loops: Sequence[SampledProcess]) -> str:
    """`It has a connection to 10.0.0.7:8000.`: the servers for which event loops may wait, "" without any."""
    addresses = {
        printable(wait.address, 80)
        for each in loops
        for wait in each.last.waits
        if wait.kind == CONNECTED
    }
    if not addresses:
        return ""
    text = counted(
        len(loops),
        "It has a connection to {servers}.",
        "They have connections to {servers}.",
        servers=listed(sorted(addresses)[:_MOST]),
    )
    return f" {text}"


def _serves(process: SampledProcess) -> bool:
    return any(wait.kind == CLIENT for wait in process.last.waits)


def event_loop_reading(
    scene: Scene, loops: Sequence[SampledProcess], confidence: float, text: str
) -> Reading:
    """The reading `text`, with what the tasks of the loops await if they have told that."""
    if awaited := wording.awaited(loops):
        text = f"{text} {awaited}."
        confidence = 0.9 if confidence > 0.5 else confidence
    if any(each.has_timer for each in loops):
        confidence = 0.4
    if any(each.reading and each.reading.awaits for each in loops):
        step = t("Look at what the tasks of the event loop await.")
    else:
        step = t("Read from inside what its tasks await (--inside).")
    return reading(scene, Kind.ASYNCIO, loops, confidence, text, step)
