"""Waits in a single dump of each process (`wait-chain`), where no rank is in a collective."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import library_waits, wording
from eagleray.observe.hangs.activity import BACKWARD, Doing
from eagleray.observe.hangs.evidence import HangEvidence, SampledProcess
from eagleray.observe.hangs.rules.rule_context import Scene, again_step, reading
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.remote.sampling.node_sampler import RUNNABLE

_READ = (Doing.IN_CODE, Doing.IN_RAY_GET, Doing.IN_EVENT_LOOP, Doing.TEARING_DOWN)


def waits(scene: Scene) -> Iterator[Reading]:
    """Names the waits, and the processes that may end them."""
    evidence = scene.evidence
    if not (scene.is_first and evidence.is_given and evidence.is_single_sample) or scene.waiting:
        return
    read, free = _read(evidence)
    waiting = {id(each): wait for each in read if each not in free and (wait := _wait(each))}
    callers = [each for each in read if id(each) in waiting]
    text = library_waits.sentence_of(callers) if callers else ""
    if not text:
        return
    others = [each for each in read if each not in free and each not in callers]
    is_own = any(wait.is_own for wait in waiting.values())
    if len(callers) == 1 and is_own:
        text += library_waits.threads_of(callers[0])
    what = {wait.what for wait in waiting.values()}
    methods = [each for each in free if library_waits.runs_method(each)]
    culprits = others or methods or [each for each in callers if not each.is_in_ray_get] or callers
    step = again_step(culprits)
    if others:
        text += f" {_running(others)}"
    elif methods:
        step = t("Read from inside what its tasks await (--inside).")
    elif what == {library_waits.LOCK_FILE}:
        step = t("Delete the file if the process that has made it has ended.")
    elif what == {library_waits.GPU}:
        step = t("Add the other ranks, and look for errors of the GPU.")
    elif is_own:
        step = t("Look at its other threads: one of them has to end this.")
    elif free and len(what) == 1:
        step = t("Add dumps of the processes that are missing: else a message was lost.")
    # Processes that wait for the GPU may be ahead of the others, or behind.
    is_unsure = what == {library_waits.GPU} and len(others) >= len(callers)
    confidence = 0.4 if is_unsure else 0.5 if others or methods else 0.55
    yield reading(scene, Kind.WAIT_CHAIN, culprits, confidence, text + free_text(evidence), step)


def free_text(evidence: HangEvidence) -> str:
    """` Process 812 waits for work.`: sentences on processes in pasted dumps that have nothing to do, "" without any.

    Stacks don't show for what coroutines wait, which may be an answer.
    """
    _, free = _read(evidence)
    if not evidence.is_given:
        return ""
    loops = [each for each in free if library_waits.runs_coroutines(each)]
    text = ""
    if idle := [each for each in free if each not in loops]:
        name = wording.Ranks(idle)
        text += " " + counted(
            len(idle), "{Name} waits for work.", "{Name} wait for work.", Name=name
        )
    if loops:
        text += " " + t(
            "What coroutines of {names} await can't be seen in stacks.", names=wording.ranks(loops)
        )
    return text


def no_wait(evidence: HangEvidence) -> tuple[str, str] | None:
    """A sentence and a step where all processes wait for work, or some run code; None otherwise."""
    read, free = _read(evidence)
    running = [each for each in read if each not in free]
    if not (evidence.is_given and read) or any(each.last.state != RUNNABLE for each in running):
        return None
    if len(read) < sum(each.stack is not None for each in evidence.processes):
        return None
    if running:
        return _running(running) + free_text(evidence), again_step(running)
    text = t("These stacks show no hang:{free}", free=free_text(evidence))
    return text, t("If requests are open, see whether they reach these processes.")


def _read(evidence: HangEvidence) -> tuple[list[SampledProcess], list[SampledProcess]]:
    """The processes whose stacks may tell a wait, and which of them wait for work."""
    read = [
        each
        for each in evidence.processes
        # A backward pass may compute the gradients itself.
        if each.activity.doing in _READ
        or (each.last.state == RUNNABLE and each.activity.call == BACKWARD)
    ]
    return read, [each for each in read if library_waits.is_free(each)]


def _wait(process: SampledProcess) -> library_waits.LibraryWait | None:
    return library_waits.wait_of(process.stack.frames) if process.stack else None


def _running(processes: Sequence[SampledProcess]) -> str:
    return counted(
        len(processes),
        "{Ranks} is{place}: whether it moves can't be seen in one dump.",
        "{Ranks} are{place}: whether they move can't be seen in one dump.",
        Ranks=wording.Ranks(processes),
        place=wording.place(processes),
    )
