"""A debug session (DAP) that shows a process that runs or hangs as paused: its threads, frames, variables and values.

The process isn't stopped, so nothing steps; what the session shows is how the process was when it was read last.  On
request one thread is really stopped at its next line of Python code, and then steps (`real_stop.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import posixpath
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from attrs import frozen

from eagleray.common import tasks
from eagleray.common.errors import printable
from eagleray.common.l10n import later, t, translated
from eagleray.observe.look_inside.conversations import InspectedProcess
from eagleray.observe.look_inside.real_stop import STEPS, NotStopped, RealStop
from eagleray.observe.look_inside.stacks import (
    MORE_FRAMES,
    InspectedThread,
    StackFrame,
    more_variables,
    threads_of,
)
from eagleray.protocol import dap
from eagleray.protocol.dap import Arguments, Body, Message
from eagleray.remote.inspecting.conversation import ProcessEnded, Unanswered
from eagleray.remote.inspecting.inspected_process import INSIDE

# After this long without a request, the client no longer shows the stacks.
UNUSED_S = 600.0
# A stack that changes more often belongs to a worker that runs: its views would never be still.
MOST_CHANGES = 3
# Longer than a release takes through a job; the client waits for it.
RELEASE_S = 2.0
# In which the debugger of a run mostly stops a worker that runs Python code.
REAL_STOP_S = 2.0
_FORCED = "!"
# A requested stop is looked for more often than changes of the stacks.
_POLLS = 0.2
# The request that our own client sends; DAP has none.
STOP_REQUEST = "eagleray.pauseAtNextLine"
VIEW_REQUEST = "eagleray.view"

MOST_DESCRIBED = 30
STOPPED = later("Looking inside")
_KEEPS_RUNNING = later("The worker keeps running.")
_NO_STEP = later("This worker is running, so it can't step.")
_NO_BREAKPOINT = later("This worker isn't debugged, so it can't stop here.")
_REQUEST_STOP = later("To step, use Pause at Next Line in the debug toolbar.")
_PAUSE_IT = later("For a real stop, select Pause in its row.")
_READ_ONLY = later("Only py-spy can read it.")
_RUNS = later("The worker was never stopped; it keeps running. Pause shows its stack again.")
_KEEPS_CHANGING = later(
    "The worker runs: its stack keeps changing. Restart shows the current stack."
)
_FRAME_ENDED = later("This frame has returned. Restart shows the current stack.")
_HOW_TO_FORCE = later("To evaluate it anyway, begin it with ! in the Debug Console.")
_NO_ANSWER = later("The process gave no answer in time. Try again.")
_ENDED = later("The process has ended.")
_OTHERS_RUN = later("Other threads keep running.")
_TRACED = later("Eagleray traces thread {name} until you continue or disconnect.")
_PENDING = later("It runs native code now. It stops at its next line of Python code.")
_OTHER_THREAD = later("Only thread {name} is stopped.")
_RESUMED = later("The worker continues. Pause stops it again.")
_RELEASED = later("The worker isn't stopped any more, and continues.")
_INSIDE = later("Eagleray looks inside process {pid}, which keeps running.")
_LIMITED = later(
    "By default an expression can't change the program. ! before it allows everything."
)
_OUTSIDE = later("Only py-spy can read process {pid}: {reason}.")
_TEXT_ONLY = later("Local variables are text, and expressions aren't evaluated.")

log = logging.getLogger(__name__)

# Returns the local file of a path of the process, "" if there is none.
FindLocalFile = Callable[[str], Awaitable[str]]

CAPABILITIES: Body = {
    "supportsConfigurationDoneRequest": True,
    "supportsEvaluateForHovers": True,
    "supportsRestartRequest": True,
    "supportsDelayedStackTraceLoading": True,
    "supportTerminateDebuggee": False,
    "supportSuspendDebuggee": False,
}


class _Rejected(Exception):
    """The request fails with this text; `shown`: the client shows it as a message, else where the answer would be."""

    def __init__(self, text: str, shown: bool = False) -> None:
        super().__init__(text)
        self.shown = shown


@frozen
class _Scope:
    """The variables of a frame: "locals" or "globals"."""

    thread: InspectedThread
    frame: StackFrame
    name: str


@frozen
class _Children:
    """The children of a value; `reference` is its number in the process, `name` the expression for it, "" for none."""

    reference: int
    name: str


class VirtualStop:
    """Serves one client until it disconnects or the process ends; owns neither the process nor its conversation.

    `pausable`: another debugger of ours can really stop the worker; `on_pause` is then requested by the client.
    """

    def __init__(
        self,
        process: InspectedProcess,
        find_local_file: FindLocalFile,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        pausable: bool = False,
    ) -> None:
        self._process = process
        self._find_local_file = find_local_file
        self._reader = reader
        self._writer = writer
        self._pausable = pausable
        self._sequence = itertools.count(1)
        self._threads: tuple[InspectedThread, ...] = ()
        # Numbers are never used again: a client may ask for what it was shown before.
        self._ids = itertools.count(1)
        self._frames: dict[int, tuple[InspectedThread, StackFrame]] = {}
        self._references: dict[int, _Scope | _Children] = {}
        self._files: dict[str, str] = {}
        self._sources: list[str] = []
        self._numbers: dict[int, int] = {}
        self._changes = 0
        self._is_shown = False
        self._invalidates = False
        self._has_ended = False
        self._last_request = 0.0
        self._answering: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._stop = RealStop(process)
        self._following: asyncio.Task[None] | None = None

    async def run(self) -> None:
        try:
            while (message := await dap.read(self._reader)) is not None:
                if message["type"] != "request":
                    continue
                self._last_request = asyncio.get_running_loop().time()
                if message.get("command") in ("disconnect", "terminate"):
                    # Without an answer the process releases the thread at the end of its conversation.
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(self._stop.release(), RELEASE_S)
                    self._send(dap.success(message))
                    if message.get("command") == "terminate":
                        self._send(dap.event("terminated"))
                        continue
                    return
                self._start_answer(message)
        except (OSError, dap.NotDap) as error:
            log.info("the client of process %s: %r", self._process.pid, error)
        finally:
            optional = [self._watching, self._following]
            running = [*self._answering, *(task for task in optional if task)]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            self._writer.close()

    def _start_answer(self, request: Message) -> None:
        task = tasks.owned(self._answer(request), "request", tasks.only_logged)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, request: Message) -> None:
        arguments = request.get("arguments")
        try:
            command = str(request.get("command"))
            handler = _HANDLERS.get(command)
            if handler is None:
                raise _Rejected(
                    t("This session doesn't support {request}.", request=printable(command, 60))
                )
            body = await handler(self, arguments if isinstance(arguments, dict) else {})
        except _Rejected as rejected:
            self._send(dap.failure(request, str(rejected), show=rejected.shown))
        except NotStopped as error:
            self._send(dap.failure(request, f"{printable(str(error), 600)}.", show=True))
        except Unanswered as error:
            log.info("process %s gave no answer: %s", self._process.pid, error)
            self._send(dap.failure(request, translated(_NO_ANSWER)))
        except ProcessEnded:
            self._send(dap.failure(request, translated(_ENDED)))
            self._end()
        except (KeyError, TypeError, ValueError) as error:
            # Bodies are never logged: they contain values of the user's program.
            log.info(
                "request %s of process %s: %r", request.get("command"), self._process.pid, error
            )
            self._send(dap.failure(request, t("The request or the answer to it is invalid.")))
        else:
            self._send(dap.success(request, body))
            await self._after(str(request.get("command")))

    async def _after(self, command: str) -> None:
        if command in ("attach", "launch"):
            self._send(dap.event("initialized"))
        elif command in ("configurationDone", "restart"):
            self._announce_stop()
            if self._stop.is_stopped:
                self._announce_real_stop("pause")
        elif command == "pause" and self._pausable:
            self._announce_later()
        elif command == "pause":
            if not self._stop.is_stopped:
                self._announce_stop()
            self._follow("pause")
        elif command == STOP_REQUEST:
            if not self._stop.is_stopped:
                self._print("console", translated(_PENDING))
            self._follow("pause")
        elif command in STEPS:
            self._follow("step")

    # The beginning and the end

    async def _initialize(self, arguments: Arguments) -> Body:
        self._invalidates = arguments.get("supportsInvalidatedEvent") is True
        return CAPABILITIES

    async def _attach(self, _arguments: Arguments) -> Body:
        return {}

    async def _configuration_done(self, _arguments: Arguments) -> Body:
        process = self._process
        if process.how == INSIDE:
            self._print("console", translated(_INSIDE, pid=process.pid), translated(_LIMITED))
        else:
            reason = printable(process.why_outside, 300)
            first = translated(_OUTSIDE, pid=process.pid, reason=reason)
            self._print("important", first, translated(_TEXT_ONLY))
        await self._read()
        self._watching = tasks.owned(self._watch(), "virtual stop", tasks.only_logged)
        return {}

    def _end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._print("important", translated(_ENDED))
            self._send(dap.event("terminated"))

    # The stacks

    async def _read(self) -> None:
        """Reads the stacks; what was shown before is forgotten."""
        await self._process.ask("forget")
        self._show(threads_of(await self._process.ask("threads")))

    async def _read_stopped(self) -> None:
        """Reads the stack of the stopped thread; of the others the client keeps what it shows."""
        await self._process.ask("forget")
        stopped = self._stop.thread
        others = {id_: item for id_, item in self._frames.items() if item[0].ident != stopped}
        self._show(threads_of(await self._process.ask("threads")))
        own = {id_: item for id_, item in self._frames.items() if item[0].ident == stopped}
        self._frames = {**others, **own}

    def _show(self, threads: tuple[InspectedThread, ...]) -> None:
        self._threads = threads
        self._frames = {
            next(self._ids): (thread, frame) for thread in threads for frame in thread.frames
        }
        self._references = {}

    def _announce_stop(self) -> None:
        self._is_shown = True
        if not self._threads:
            return
        main = self._threads[0]
        body: Body = {
            "reason": "pause",
            "description": translated(STOPPED),
            "text": translated(_KEEPS_RUNNING),
            "threadId": self._number(main),
            "allThreadsStopped": True,
        }
        if main.exception:
            body["text"] += " " + t(
                "It handles {exception}.", exception=printable(main.exception, 300)
            )
        self._send(dap.event("stopped", body))
        # By itself the client would call these paused.
        for other in self._threads[1:MOST_DESCRIBED]:
            number = self._number(other)
            of_other = {"threadId": number, "allThreadsStopped": False, "preserveFocusHint": True}
            self._send(dap.event("stopped", {**body, **of_other}))

    def _announce_later(self) -> None:
        """Leaves the other debugger some time, since a client shows a stop of a session that ends at once with errors."""

        async def announce() -> None:
            await asyncio.sleep(REAL_STOP_S)
            self._announce_stop()

        self._replace_following(announce())

    def _announce_real_stop(self, reason: str) -> None:
        self._is_shown = True
        # Without a description the client names the reason, as in any other session.
        body: Body = {
            "reason": reason,
            "text": translated(_OTHERS_RUN),
            "threadId": self._number_of(self._stop.thread),
            "allThreadsStopped": False,
        }
        self._send(dap.event("stopped", body))

    def _follow(self, reason: str) -> None:
        """Shows the requested stop as soon as the thread has reached it."""
        self._replace_following(self._reach(reason))

    def _replace_following(self, doing: Coroutine[Any, Any, None]) -> None:
        if self._following is not None:
            self._following.cancel()
        self._following = tasks.owned(doing, "real stop", tasks.only_logged)

    async def _reach(self, reason: str) -> None:
        interval = (self._process.check_s or 0) * _POLLS
        try:
            while not self._stop.is_stopped:
                if not self._stop.is_pending:
                    return
                await asyncio.sleep(interval)
                await self._refresh_stop()
            await self._read_stopped()
        except ProcessEnded:
            self._end()
        except (Unanswered, ValueError) as error:
            log.info("process %s gave no answer: %s", self._process.pid, error)
            self._print("important", translated(_NO_ANSWER))
        else:
            self._announce_real_stop(reason)

    async def _refresh_stop(self) -> None:
        """Says so if the process has released the thread, as after the end of its conversation."""
        await self._stop.refresh()
        if not self._stop.is_pending:
            self._print("important", translated(_RELEASED))

    async def _watch(self) -> None:
        """Compares the stacks while a client uses them, and notices the end of the process."""
        loop = asyncio.get_running_loop()
        while (interval := self._process.check_s) is not None:
            await asyncio.sleep(interval)
            try:
                if self._stop.is_stopped:
                    await self._check_stop()
                elif loop.time() - self._last_request <= UNUSED_S:
                    await self._compare()
            except ProcessEnded:
                self._end()
                return
            except (Unanswered, ValueError) as error:
                log.info("process %s gave no answer: %s", self._process.pid, error)

    async def _check_stop(self) -> None:
        await self._refresh_stop()
        if not self._stop.is_stopped and not self._stop.is_pending:
            self._is_shown = False
            self._send(dap.event("continued", {"threadId": self._number_of(self._stop.thread)}))

    async def _compare(self) -> None:
        """Shows the stacks again if they have changed, unless they do so all the time."""
        threads = threads_of(await self._process.ask("threads"))
        if not self._is_shown or threads == self._threads:
            return
        self._changes += 1
        if self._changes <= MOST_CHANGES:
            await self._process.ask("forget")
            self._show(threads)
            if self._invalidates:
                self._send(dap.event("invalidated", {"areas": ["all"]}))
            else:
                self._announce_stop()
        elif self._changes == MOST_CHANGES + 1:
            self._print("console", translated(_KEEPS_CHANGING))

    async def _refresh(self, _arguments: Arguments) -> Body:
        self._changes = 0
        await self._read()
        return {}

    async def _pause(self, arguments: Arguments) -> Body:
        """The virtual stop; also a real one, after the user has requested one in this session."""
        body = await self._refresh(arguments)
        if self._pausable:
            self._send(dap.event("eagleray.pause"))
        elif self._stop.thread:
            await self._stop.request(self._stop.thread)
        return body

    async def _request_stop(self, arguments: Arguments) -> Body:
        """Not in DAP: stops the thread, by default the first, at its next line of Python code."""
        thread = self._thread(arguments.get("threadId"))
        if self._process.how != INSIDE:
            raise NotStopped(self._process.why_outside)
        if not self._stop.is_stopped:
            await self._stop.request(thread.ident)
            self._print("console", translated(_TRACED, name=_name(thread)))
        return {}

    async def _continue(self, _arguments: Arguments) -> Body:
        self._is_shown = False
        resumed = self._stop.is_stopped or self._stop.is_pending
        if self._following is not None:
            self._following.cancel()
        await self._stop.release()
        await self._process.ask("forget")
        self._print("important", translated(_RESUMED if resumed else _RUNS))
        return {"allThreadsContinued": True}

    async def _step(self, command: str, arguments: Arguments) -> Body:
        stop = self._stop
        if not stop.is_stopped:
            raise _Rejected(f"{translated(_NO_STEP)} {self._how_to_stop()}", shown=True)
        stopped = self._number_of(stop.thread)
        if arguments.get("threadId", stopped) != stopped:
            name = _name(self._thread(stopped))
            raise _Rejected(translated(_OTHER_THREAD, name=name), shown=True)
        top = next(
            (frame for thread, frame in self._frames.values() if thread.ident == stop.thread), None
        )
        await stop.step(command, skips_libraries=top is not None and top.is_users)
        return {}

    async def _no_step(self, _arguments: Arguments) -> Body:
        raise _Rejected(t("The debugger doesn't support this step."), shown=True)

    def _how_to_stop(self) -> str:
        if self._process.how != INSIDE:
            return translated(_READ_ONLY)
        return translated(_PAUSE_IT if self._pausable else _REQUEST_STOP)

    async def _list_threads(self, _arguments: Arguments) -> Body:
        return {
            "threads": [
                {
                    "id": self._number(thread),
                    "name": _name(thread),
                }
                for thread in self._threads
            ]
        }

    async def _stack_trace(self, arguments: Arguments) -> Body:
        number = arguments["threadId"]
        listed = [
            (identifier, frame)
            for identifier, (thread, frame) in self._frames.items()
            if self._number(thread) == number
        ]
        start = int(arguments.get("startFrame") or 0)
        levels = int(arguments.get("levels") or 0) or len(listed)
        shown = [await self._stack_frame(*item) for item in listed[start : start + levels]]
        is_cut = any(thread.is_cut for thread in self._threads if self._number(thread) == number)
        if is_cut and start + len(shown) == len(listed):
            shown.append(_label(next(self._ids), translated(MORE_FRAMES)))
        return {"stackFrames": shown, "totalFrames": len(listed) + is_cut}

    async def _stack_frame(self, identifier: int, frame: StackFrame) -> Body:
        source: Body = {"name": posixpath.basename(frame.path)}
        if local := await self._local(frame.path):
            source["path"] = local
        elif frame.path.startswith("/"):
            source |= {"path": frame.path, "sourceReference": self._source_number(frame.path)}
        if not frame.is_users:
            source["presentationHint"] = "deemphasize"
        return {
            "id": identifier,
            "name": printable(frame.function, 300),
            "source": source,
            "line": frame.line,
            "column": 1,
            "presentationHint": "normal" if frame.is_users else "subtle",
        }

    async def _local(self, path: str) -> str:
        if path not in self._files:
            self._files[path] = await self._find_local_file(path)
        return self._files[path]

    def _source_number(self, path: str) -> int:
        if path not in self._sources:
            self._sources.append(path)
        return self._sources.index(path) + 1

    async def _source(self, arguments: Arguments) -> Body:
        number = int(arguments.get("sourceReference") or arguments["source"]["sourceReference"])
        answer = self._checked(await self._process.ask("source", path=self._sources[number - 1]))
        return {"content": str(answer["text"]), "mimeType": "text/x-python"}

    # Variables and values

    async def _scopes(self, arguments: Arguments) -> Body:
        thread, frame = self._frame(arguments["frameId"])
        names = {"locals": t("Locals"), "globals": t("Globals")}
        if self._process.how != INSIDE:
            del names["globals"]
        return {
            "scopes": [
                {
                    "name": title,
                    "variablesReference": self._reference(_Scope(thread, frame, name)),
                    "expensive": name == "globals",
                    **({"presentationHint": "locals"} if name == "locals" else {}),
                }
                for name, title in names.items()
            ]
        }

    async def _variables(self, arguments: Arguments) -> Body:
        holder = self._references.get(int(arguments["variablesReference"]))
        if holder is None:
            raise _Rejected(translated(_FRAME_ENDED))
        if isinstance(holder, _Scope):
            place = _place(holder.thread, holder.frame)
            answer = await self._process.ask("variables", scope=holder.name, **place)
            expression = "{name}"
        else:
            answer = await self._process.ask("children", reference=holder.reference)
            access = {"item": "[{name}]", "attribute": ".{name}"}.get(str(answer.get("access")), "")
            expression = (
                holder.name
                and access
                and holder.name.replace("{", "{{").replace("}", "}}") + access
            )
        variables = [
            self._variable(item, expression.format(name=item["name"]) if expression else "")
            for item in self._checked(answer)["variables"]
        ]
        if left_out := int(answer.get("left_out", 0)):
            more = {"name": "…", "value": more_variables(left_out), "variablesReference": 0}
            variables.append(more)
        return {"variables": variables}

    def _variable(self, item: Mapping[str, Any], expression: str) -> Body:
        reference = int(item["reference"])
        children = self._reference(_Children(reference, expression)) if reference else 0
        return {
            "name": str(item["name"]),
            "value": str(item["value"]),
            "type": str(item["type"]),
            "variablesReference": children,
            **({"evaluateName": expression} if expression else {}),
        }

    async def _evaluate(self, arguments: Arguments) -> Body:
        expression = str(arguments["expression"]).strip()
        is_console = arguments.get("context") == "repl"
        is_forced = is_console and expression.startswith(_FORCED)
        if is_forced:
            expression = expression.removeprefix(_FORCED).strip()
        frame_id = arguments.get("frameId")
        place = _place(*(self._users_frame() if frame_id is None else self._frame(frame_id)))
        answer = await self._process.ask(
            "evaluate", expression=expression, allow_all=is_forced, **place
        )
        if answer.get("refused") and is_console:
            raise _Rejected(f"{_error(answer)}. {translated(_HOW_TO_FORCE)}")
        shown = self._variable(self._checked(answer), expression)
        return {
            "result": shown["value"],
            "type": shown["type"],
            "variablesReference": shown["variablesReference"],
        }

    async def _view(self, arguments: Arguments) -> Body:
        """Not in DAP: a value, or short texts of variables, as `inside/views.py` has them."""
        question = {name: value for name, value in arguments.items() if name != "frameId"}
        place = _place(*self._frame(arguments["frameId"]))
        answer = await self._process.ask("view", **question, **place)
        return self._checked(answer) if answer.get("ended") else answer

    def _checked(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer; raises _Rejected with the error that it has."""
        if answer.get("ended"):
            raise _Rejected(translated(_FRAME_ENDED))
        if "error" in answer:
            raise _Rejected(_error(answer))
        return answer

    async def _set_breakpoints(self, arguments: Arguments) -> Body:
        requested = arguments.get("breakpoints") or arguments.get("lines") or []
        rejected = {"verified": False, "message": translated(_NO_BREAKPOINT)}
        return {"breakpoints": [rejected for _ in requested]}

    async def _nothing(self, _arguments: Arguments) -> Body:
        return {}

    def _users_frame(self) -> tuple[InspectedThread, StackFrame]:
        for thread in self._threads:
            if frame := thread.users_frame:
                return thread, frame
        raise _Rejected(translated(_FRAME_ENDED))

    def _frame(self, identifier: object) -> tuple[InspectedThread, StackFrame]:
        listed = self._frames.get(identifier) if isinstance(identifier, int) else None
        if listed is None:
            raise _Rejected(translated(_FRAME_ENDED))
        return listed

    def _thread(self, number: object) -> InspectedThread:
        """The thread with this number in the session, else the first."""
        for thread in self._threads:
            if number is not None and self._number(thread) == number:
                return thread
        if not self._threads:
            raise _Rejected(translated(_FRAME_ENDED))
        return self._threads[0]

    def _reference(self, holder: _Scope | _Children) -> int:
        number = next(self._ids)
        self._references[number] = holder
        return number

    def _number(self, thread: InspectedThread) -> int:
        return self._number_of(thread.ident)

    def _number_of(self, ident: int) -> int:
        """A small number, since Python's exceed 32 bits."""
        return self._numbers.setdefault(ident, len(self._numbers) + 1)

    def _print(self, category: str, *lines: str) -> None:
        for line in lines:
            self._send(dap.event("output", {"category": category, "output": line + "\n"}))

    def _send(self, message: Message) -> None:
        if not self._writer.is_closing():
            self._writer.write(dap.encode({**message, "seq": next(self._sequence)}))


def _name(thread: InspectedThread) -> str:
    return printable(thread.name, 200) or t("Thread {number}", number=thread.ident)


def _place(thread: InspectedThread, frame: StackFrame) -> dict[str, int]:
    return {"thread": thread.ident, "frame": frame.number, "id": frame.ident}


def _error(answer: Mapping[str, Any]) -> str:
    return printable(str(answer.get("error")), 600)


def _label(identifier: int, text: str) -> Body:
    """A row between frames that is none itself."""
    return {"id": identifier, "name": text, "line": 0, "column": 0, "presentationHint": "label"}


def _step_handler(command: str) -> _Handler:
    return lambda session, arguments: session._step(command, arguments)


_Handler = Callable[[VirtualStop, Arguments], Awaitable[Body]]
_HANDLERS: dict[str, _Handler] = {
    "initialize": VirtualStop._initialize,
    "attach": VirtualStop._attach,
    "launch": VirtualStop._attach,
    "configurationDone": VirtualStop._configuration_done,
    "threads": VirtualStop._list_threads,
    "stackTrace": VirtualStop._stack_trace,
    "scopes": VirtualStop._scopes,
    "variables": VirtualStop._variables,
    "evaluate": VirtualStop._evaluate,
    "source": VirtualStop._source,
    "pause": VirtualStop._pause,
    "restart": VirtualStop._refresh,
    "continue": VirtualStop._continue,
    "setBreakpoints": VirtualStop._set_breakpoints,
    "setFunctionBreakpoints": VirtualStop._set_breakpoints,
    "setExceptionBreakpoints": VirtualStop._nothing,
    STOP_REQUEST: VirtualStop._request_stop,
    VIEW_REQUEST: VirtualStop._view,
    **{command: _step_handler(command) for command in STEPS},
    **dict.fromkeys(("stepBack", "reverseContinue", "goto"), VirtualStop._no_step),
}
