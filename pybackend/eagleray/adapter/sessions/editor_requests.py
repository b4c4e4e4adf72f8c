"""The requests of an editor, answered by the worker: paths translated, Ray's frames folded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import zip_longest

from eagleray.adapter.sessions.breakpoint_rows import BreakpointRows, FileBreakpoints
from eagleray.adapter.sessions.dap_requests import TABLE, VIEW_REQUEST, Unfit, checked
from eagleray.adapter.sessions.stacks import is_noise, is_own_thread
from eagleray.adapter.sessions.stops import exception_info
from eagleray.adapter.sessions.worker_session import WorkerSession
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.protocol import dap
from eagleray.protocol.dap import Arguments, Body, Frame, Message, Row, Source
from eagleray.remote.inspecting.parsing import parsed

# Without the worker's file, a breakpoint stays where debugpy has moved it.
_FILE_S = 5.0

# Lists in responses whose rows have a `source`.
_LISTS_WITH_SOURCES = {
    "gotoTargets": "targets",
    "setFunctionBreakpoints": "breakpoints",
}

# The settings of debugpy after attaching, each with its response.
_SETTINGS: dict[str, tuple[Arguments, Body]] = {
    "setFunctionBreakpoints": ({"breakpoints": []}, {"breakpoints": []}),
    "setExceptionBreakpoints": ({"filters": []}, {}),
}


class EditorRequests:
    """Answers one editor's requests, and remembers which files that editor has named."""

    def __init__(self, worker: WorkerSession) -> None:
        self._worker = worker
        self._sources = worker.sources
        self._named: set[str] = set()

    async def answer(self, request: Message) -> Message:
        """The response to a request; raises an error of the catalogue when the worker is gone."""
        command = str(request.get("command"))
        try:
            arguments = checked(request.get("command"), request.get("arguments"))
            self._check_thread(command, arguments)
            self._check_names(command, arguments)
        except Unfit as error:
            return dap.failure(request, str(error))
        if command == "continue":
            await self._worker.resume()
            return dap.success(request, {"allThreadsContinued": True})
        if command == "setBreakpoints":
            return await self._set_breakpoints(request, arguments)
        if command == "stackTrace":
            return await self._stack_trace(request, arguments)
        if command == "source":
            return await self._source(request, arguments)
        if command == VIEW_REQUEST:
            return await self._view(request, arguments)
        if command in _SETTINGS:
            return await self._set(request, command, self._for_worker(command, arguments))
        response = await self._worker.request(command, self._for_worker(command, arguments))
        return await self._for_editor(request, command, response)

    def _check_thread(self, command: str, arguments: Arguments) -> None:
        """Refuses requests for running threads: debugpy never answers those, nor any request after them (1.8.22)."""
        if (
            command in TABLE
            and TABLE[command].stopped
            and arguments["threadId"] not in self._worker.record.stopped
        ):
            raise Unfit(t("The thread is not paused."))

    def _check_names(self, command: str, arguments: Arguments) -> None:
        if command in ("setBreakpoints", "gotoTargets"):
            names = self._sources.names(arguments["source"])
            if not all(name.get("path") for name in names):
                raise Unfit(t("The “sourceReference” is not one of this worker's."))

    async def threads(self) -> list[Row]:
        """The threads of the worker's program; raises errors of the catalogue."""
        response = await self._worker.request("threads")
        return self._threads((response.get("body") or {}).get("threads") or [])

    async def forget_unnamed_files(self) -> None:
        """Clears the breakpoints of files that an earlier editor named and this one did not."""
        record = self._worker.record
        for path in [path for path in record.files if path not in self._named]:
            await self._clear(record.files.pop(path).names)

    async def update_breakpoints(self) -> list[Message]:
        """Sets all breakpoints again by the current mappings; returns the events for the editor."""
        events = []
        for path, file in list(self._worker.record.files.items()):
            if _paths(self._sources.names(file.source)) == file.names:
                continue
            await self._clear(file.names)
            before = file.answer
            response = await self._pass_breakpoints(path, file.source, file.arguments)
            after = (response.get("body") or {}).get("breakpoints") or []
            for old, new in zip(before, after, strict=False):
                changed = {**new, "id": old.get("id")}
                events.append(dap.event("breakpoint", {"reason": "changed", "breakpoint": changed}))
        return events

    def event_for_editor(self, event: Message) -> Message:
        """An event of the worker with its paths translated."""
        body = event.get("body") or {}
        if event.get("event") == "breakpoint" and isinstance(body.get("breakpoint"), dict):
            rows = self._sources.rows_to_editor({"rows": [body["breakpoint"]]}, "rows")["rows"]
            return {**event, "body": {**body, "breakpoint": rows[0]}}
        if isinstance(body.get("source"), dict):
            return {**event, "body": {**body, "source": self._sources.to_editor(body["source"])}}
        return event

    async def _set(self, request: Message, command: str, arguments: Arguments) -> Message:
        """Sends a setting to the worker if it changes anything.

        Every editor begins with these two, mostly with the current values, and waits for each response.  To a remote
        worker they would be two round trips between the click and the stop.
        """
        settings = self._worker.record.settings
        current, body = settings.get(command, _SETTINGS[command])
        if arguments == current:
            return dap.success(request, body)
        response = await self._worker.request(command, arguments)
        answer = await self._for_editor(request, command, response)
        if answer.get("success"):
            settings[command] = (arguments, answer.get("body") or {})
        return answer

    async def _set_breakpoints(self, request: Message, arguments: Arguments) -> Message:
        source = arguments["source"]
        path = str(source.get("path") or source["sourceReference"])
        self._named.add(path)
        response = await self._pass_breakpoints(path, source, arguments)
        return _response(request, response, response.get("body") or {})

    async def _pass_breakpoints(self, path: str, source: Source, arguments: Arguments) -> Message:
        names, rows = self._sources.names(source), BreakpointRows(arguments)
        answers = await self._send_breakpoints(names, rows)
        first = (answers[0].get("body") or {}).get("breakpoints") or []
        if rows.has_moved_up(first):
            lines = await self._lines(names[0]["path"])
            if lines is not None and rows.refuse_moved(first, lines):
                answers = await self._send_breakpoints(names, rows)
        bodies = [
            await self._sources.translated(answer.get("body") or {}, "breakpoints")
            for answer in answers
        ]
        merged = rows.merge_answers(_best([body.get("breakpoints") or [] for body in bodies]))
        self._worker.record.files[path] = FileBreakpoints(source, arguments, merged, _paths(names))
        return {**answers[0], "body": {**bodies[0], "breakpoints": merged}}

    async def _send_breakpoints(self, names: list[Source], rows: BreakpointRows) -> list[Message]:
        return await self._worker.debugger.set_breakpoints(
            {"source": name, "breakpoints": rows.sent()} for name in names
        )

    async def _lines(self, path: str) -> list[str] | None:
        """The lines of the worker's file; None if they aren't available in time."""
        try:
            file = await asyncio.wait_for(self._worker.read_file(path), _FILE_S)
        except (EaglerayError, asyncio.TimeoutError):
            return None
        return None if file.truncated else file.text.splitlines()

    async def _clear(self, paths: Iterable[str]) -> None:
        await self._worker.debugger.set_breakpoints(
            {"source": {"path": path}, "breakpoints": []} for path in paths
        )

    async def _stack_trace(self, request: Message, arguments: Arguments) -> Message:
        frames = await self._worker.stack(arguments["threadId"])
        start = _count(arguments.get("startFrame"))
        levels = _count(arguments.get("levels")) or len(frames)
        rows = {"stackFrames": frames[start : start + levels]}
        body = await self._sources.translated(rows, "stackFrames")
        body["stackFrames"] = [_deemphasized(frame) for frame in body["stackFrames"]]
        return dap.success(request, {**body, "totalFrames": len(frames)})

    async def _source(self, request: Message, arguments: Arguments) -> Message:
        source = arguments.get("source") or {}
        reference = arguments["sourceReference"] or source.get("sourceReference")
        path = self._sources.path_of(reference)
        if not path:
            response = await self._worker.request("source", arguments)
            return _response(request, response, response.get("body") or {})
        file = await self._worker.read_file(path)
        return dap.success(request, {"content": file.text, "mimeType": "text/x-python"})

    async def _view(self, request: Message, arguments: Arguments) -> Message:
        if "expression" in arguments and not arguments.get("allow_all"):
            try:
                arguments["tree"] = parsed(arguments["expression"])
            except (SyntaxError, ValueError) as error:
                return dap.success(request, {"error": f"{type(error).__name__}: {error}"})
        answer = await self._worker.debugger.read_value(arguments["frameId"], arguments)
        if answer is None:
            return dap.failure(request, t("The worker isn't stopped in this frame any more."))
        return dap.success(request, answer)

    def _for_worker(self, command: str, arguments: Arguments) -> Arguments:
        if command == "evaluate":
            # A hover comes with the document's URI, which debugpy cannot read.
            return {k: v for k, v in arguments.items() if k not in ("source", "line", "column")}
        if "source" in arguments:
            return {**arguments, "source": self._sources.to_worker(arguments["source"])}
        return arguments

    async def _for_editor(self, request: Message, command: str, response: Message) -> Message:
        body = response.get("body") or {}
        if not response.get("success"):
            # debugpy adds an empty list of what was requested (1.8.22, stepInTargets), which no error of DAP has.
            body = {name: value for name, value in body.items() if name == "error"}
        elif command == "threads":
            body = {**body, "threads": self._threads(body.get("threads") or [])}
        elif command == "variables":
            rows = body.get("variables") or []
            body = {**body, "variables": [row for row in rows if not is_noise(row)]}
        elif command == "exceptionInfo":
            body = exception_info(body, self._worker.folded_traceback)
        elif command in _LISTS_WITH_SOURCES:
            body = await self._sources.translated(body, _LISTS_WITH_SOURCES[command])
        return _response(request, response, body)

    def _threads(self, threads: list[Row]) -> list[Row]:
        name = self._worker.display_name
        shown = [thread for thread in threads if not is_own_thread(str(thread.get("name", "")))]
        return [
            {**t, "name": name if t.get("name") == "MainThread" else f"{name} · {t.get('name')}"}
            for t in shown
        ]


def _paths(sources: Iterable[Source]) -> tuple[str, ...]:
    return tuple(str(source.get("path") or "") for source in sources)


def _best(answers: list[list[Row]]) -> list[Row]:
    """Each breakpoint from the first answer, or from one in which it is verified.

    The answers are for the same file under its names.
    """
    first, *others = answers
    best = []
    for row, *more in zip_longest(first, *others, fillvalue={}):
        verified = next((other for other in (row, *more) if other.get("verified")), row)
        best.append({**verified, "id": row["id"]} if "id" in row else verified)
    return best


def _response(request: Message, response: Message, body: Body) -> Message:
    if response.get("success"):
        return dap.success(request, body)
    return {**dap.failure(request, str(response.get("message", ""))), "body": body}


def _deemphasized(frame: Frame) -> Frame:
    if frame.get("presentationHint") != "subtle" or not isinstance(frame.get("source"), dict):
        return frame
    return {**frame, "source": {**frame["source"], "presentationHint": "deemphasize"}}


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
