"""A wait, and the path of waits to what the last process does, as a sentence."""

from __future__ import annotations

from itertools import pairwise

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import t, translated
from eagleray.observe.hangs import library_waits, wording
from eagleray.observe.hangs.activity import Doing, innermost
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.remote.sampling.frames import is_users
from eagleray.remote.sampling.merging import ThreadStack
from eagleray.remote.sampling.wait_records import CLIENT

# Kinds of waits for a task for which no node has room now, or ever.
NO_ROOM, NEVER_ROOM = "no-room", "never-room"


@frozen
class Wait:
    """`what` is waited for by the thread with `stack`.  One of `targets` can end it; without any nothing in the picture
    can.

    `kind` is the kernel's, else `NO_ROOM`, `NEVER_ROOM` or, for any other wait in Ray, "".  `alone` says why nothing can end it, or what keeps the last process
    of the path from it, "" without that.  `outside` names those that can end it where the picture has no other process
    that can, and `groups` placement groups.  `is_unsure`: it may wait for something else, or its task has changed during the samples.
    """

    what: str
    targets: tuple[SampledProcess, ...] = ()
    stack: ThreadStack | None = None
    kind: str = ""
    alone: str = ""
    outside: str = ""
    is_unsure: bool = False
    groups: str = ""

    @property
    def place(self) -> str:
        """` in ask (rollout.py:11)` for a thread besides the leading one; "" for the leading one, or without code of the user."""
        frame = innermost(self.stack.frames, is_users) if self.stack else None
        return wording.place_of([frame]) if frame else ""

    def which(self, does: str) -> str:
        """`, which waits for …`: what the target does that the sentence follows."""
        if len(self.targets) > 1:
            return t(", one of which {does}", does=does)
        return t(", which {does}", does=does)


@frozen
class Path:
    """The waits from `start` on; `processes` are those that wait, and `end` is where the last wait leads, if it is in the picture.

    `name` stands for `start` at the beginning of a sentence.  `leads_back`: the last wait leads to one of `processes`, and
    `is_cycle`: nothing else can end any of these waits.
    """

    start: SampledProcess
    name: str
    waits: tuple[Wait, ...]
    processes: tuple[SampledProcess, ...]
    end: SampledProcess | None
    is_cycle: bool = False
    leads_back: bool = False

    @property
    def is_unsure(self) -> bool:
        return any(wait.is_unsure for wait in self.waits)

    @property
    def is_of_ray(self) -> bool:
        return all(wait.kind == "" for wait in self.waits)

    @property
    def _places(self) -> list[str]:
        """The places of the waits in the kernel."""
        waiting = (self.start, *self.processes)[-len(self.waits) :]
        return [
            (wait.place or wording.place([each])) if wait.kind else ""
            for wait, each in zip(self.waits, waiting, strict=True)
        ]

    @property
    def sentence(self) -> str:
        """`The driver waits for Trainer.sync, which waits for an answer from 10.0.0.7:8000 in step (rollout.py:11).`"""
        text = t(
            "{Process} waits for {what}",
            Process=self.name,
            what=self.waits[0].what,
        )
        places = self._places if self.leads_back else [""] * len(self.waits)
        text += places[0]
        for (before, wait), place in zip(pairwise(self.waits), places[1:], strict=True):
            text += before.which(t("waits for {what}", what=wait.what)) + place
        if self.is_cycle and len(self.waits) == 1:
            return t("{text}: it can't continue.", text=text)
        if self.is_cycle:
            return t("{text}: none of them can continue.", text=text)
        if self.leads_back:
            return t("{text}: they seem to wait for each other.", text=text)
        if self.waits[-1].kind in (NO_ROOM, NEVER_ROOM):
            return t("{text}, but {reason}.", text=text, reason=self.waits[-1].alone)
        if self.end is None:
            text += self.waits[-1].place or wording.place(self.processes[-1:])
            if alone := self.waits[-1].alone:
                last = self.processes[-1]
                further = library_waits.threads_of(last) + library_waits.of_busy_pool(last)
                return f"{text}: {alone}.{further}"
            return f"{text}."
        if awaited := wording.awaited([self.end]):
            return f"{text}. {awaited}."
        if serves(self.end) and not self.end.is_busy:
            return f"{text}.{library_waits.threads_of(self.end)}"
        does = doing_of(self.end)
        return f"{text}{self.waits[-1].which(does) if does else ''}."


def doing_of(process: SampledProcess) -> str:
    """`is in step (train.py:3)`: what a process does; "" if that isn't known."""
    doing, place = process.activity.doing, wording.place([process])
    if doing is Doing.ENDED:
        return t("has ended")
    if doing is Doing.IN_DEBUGGER:
        return t("is paused by a debugger{place}", place=place)
    if doing is Doing.STOPPED:
        return t("was stopped by a signal{place}", place=place)
    if process.is_busy or process.goes_on:
        return t("works{place}", place=wording.computing_place([process]))
    if process.activity.call:
        return t("waits in {calls}", calls=wording.calls([process]))
    frames = process.stack.frames if process.stack else ()
    if wait := library_waits.wait_of(frames):
        return t("waits for {what}{place}", what=translated(wait.what), place=place)
    if pause := library_waits.pause_of(frames):
        return f"{pause}{place}"
    if place:
        return t("is{place}", place=place)
    program = process.process.title.partition(" ")[0].rpartition("/")[2]
    if process.last.reason == "not-python" and program:
        return t("runs {program}", program=printable(program, 40))
    return ""


def serves(process: SampledProcess) -> bool:
    """Whether a thread of it waits for clients."""
    return any(wait.kind == CLIENT for wait in process.last.waits)
