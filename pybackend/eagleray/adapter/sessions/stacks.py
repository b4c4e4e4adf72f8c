"""The stacks of a worker's threads, with the frames of Ray and of the debugger folded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping

from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.frames import FrameOwners, fold, is_wrapped
from eagleray.adapter.sessions.in_worker import RPC_OUTPUT

Ask = Callable[[str, Message], Awaitable[Message]]


class Stacks:
    """The stack of a thread that stands comes with its stop, or is asked for once; in the worker's paths.

    `standing` has the threads that are stopped now.  `is_wrapped`: the last stop came with a stack that has a frame of
    Ray on top, which is folded away.
    """

    def __init__(self, ask: Ask, standing: Collection[int]) -> None:
        self._ask = ask
        self._standing = standing
        self._owners = FrameOwners({})
        self._known: dict[int, list[Message]] = {}
        self.is_wrapped = False

    def fold_by(self, roots: Mapping[str, str]) -> None:
        """From now on the frames in these folders of the worker, by whose they are, are folded."""
        self._owners = FrameOwners(roots)

    def stopped(self, body: Message) -> None:
        """Takes what came with a `stopped` event out of it."""
        told = take_stacks(body)
        self._known = {thread: fold(frames, self._owners) for thread, frames in told.items()}
        self.is_wrapped = any(is_wrapped(frames, self._owners) for frames in told.values())

    def clear(self) -> None:
        self._known.clear()

    async def frames(self, thread: int) -> list[Message]:
        """The stack of a thread; raises what asking raises."""
        if thread not in self._known:
            arguments = {"threadId": thread, "startFrame": 0, "levels": 0}
            response = await self._ask("stackTrace", arguments)
            frames = fold((response.get("body") or {}).get("stackFrames") or [], self._owners)
            if thread not in self._standing:
                # It has run on meanwhile.
                return frames
            self._known[thread] = frames
        return self._known[thread]


def take_stacks(body: Message) -> dict[int, list[Message]]:
    """Removes the stack that `in_worker` has put into a `stopped` event, and returns it by its thread."""
    frames, thread = body.pop(RPC_OUTPUT, None), body.get("threadId")
    return {thread: frames} if isinstance(frames, list) and isinstance(thread, int) else {}
