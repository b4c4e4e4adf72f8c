"""The sidecar's server: the registry of requests behind pygls, over standard input and output."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.exceptions import (
    FeatureRequestError,
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcMethodNotFound,
)
from pygls.io_ import StdinAsyncReader, StdoutWriter, run_async
from pygls.lsp.server import LanguageServer

from eagleray import __version__
from eagleray.common import l10n
from eagleray.common.blocking_calls import off_loop
from eagleray.common.doctor_hints import diagnosed_part
from eagleray.common.errors import EaglerayError
from eagleray.sidecar.protocol import AnsweringProtocol
from eagleray.wire.requests import BadParams, RequestServer, UnknownMethod

# The code of an error of the catalogue; `data` holds {code, message, next_step, output, doctor}.
CATALOGUE_ERROR = -32000

# Makes the registry once the editor's initializationOptions are known.
Build = Callable[[dict[str, Any]], RequestServer]

log = logging.getLogger(__name__)


class Sidecar(LanguageServer):
    """One editor at the other end of stdio.  Its `initialize` calls `build`, in another thread."""

    protocol: AnsweringProtocol

    def __init__(self, build: Build) -> None:
        super().__init__(
            "eagleray",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.None_,
            protocol_cls=AnsweringProtocol,
        )
        self._build = build
        self.protocol.answering = self.answering
        self._requests = RequestServer()
        # pygls writes attributes onto a handler, which a bound method does not take.

        async def initialize(params: types.InitializeParams) -> None:
            await self._on_initialize(params)

        self.feature(types.INITIALIZE)(initialize)
        self.feature(types.INITIALIZED)(lambda params: self._on_initialized(params))

    async def serve(self, stdin: BinaryIO, stdout: BinaryIO) -> None:
        """Answers until `exit` or the end of `stdin`."""
        self.protocol.set_writer(StdoutWriter(stdout))
        pool = ThreadPoolExecutor(1, thread_name_prefix="stdin")
        try:
            await run_async(
                stop_event=threading.Event(),
                reader=StdinAsyncReader(stdin, pool),
                protocol=self.protocol,
                logger=logging.getLogger("pygls.quiet"),
                error_handler=self._on_unreadable,
            )
        finally:
            await self._requests.stop()
            pool.shutdown(wait=False)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Logs the error; pygls would show it to the user as a separate message."""
        if source is not FeatureRequestError:
            log.error("%s: %s", source.__name__, type(error).__name__)

    def _on_unreadable(self, error: Exception, source: Any) -> None:
        self.report_server_error(error, source)
        if isinstance(error, ValueError):
            self.protocol.refuse_unreadable()

    async def _on_initialize(self, params: types.InitializeParams) -> None:
        options = params.initialization_options

        def build() -> RequestServer:
            l10n.use(params.locale or "")
            return self._build(options if isinstance(options, dict) else {})

        # It makes folders in the home and reads files there.
        self._requests = await off_loop(build)

    def _on_initialized(self, _: types.InitializedParams) -> None:
        self._requests.start(self.protocol.notify)

    def answering(self, method: str) -> Callable[[Any], Any]:
        """The function that answers requests of ours; they fail before `initialize`."""

        async def answer(params: Any) -> Any:
            token = params.get("workDoneToken") if isinstance(params, dict) else None
            report = _Progress(self.protocol, token) if token is not None else _no_report
            try:
                return await self._requests.call(method, {} if params is None else params, report)
            except EaglerayError as error:
                raise JsonRpcException(error.message, CATALOGUE_ERROR, _data(error)) from error
            except BadParams as error:
                raise JsonRpcInvalidParams(str(error)) from error
            except UnknownMethod as error:
                raise JsonRpcMethodNotFound.of(method) from error
            finally:
                if isinstance(report, _Progress):
                    report.end()

        return answer


def _data(error: EaglerayError) -> dict[str, str]:
    return {
        "code": error.code,
        "message": error.message,
        "next_step": error.shown_step,
        "output": error.output,
        "doctor": diagnosed_part(error.code) or "",
    }


def _no_report(message: str, percentage: int | None = None) -> None:
    """Does nothing: no client asked for reports."""


class _Progress:
    """$/progress of one request whose params carry a `workDoneToken`."""

    def __init__(self, protocol: AnsweringProtocol, token: int | str) -> None:
        self._protocol = protocol
        self._token = token
        self._send(types.WorkDoneProgressBegin(title=""))

    def __call__(self, message: str, percentage: int | None = None) -> None:
        self._send(types.WorkDoneProgressReport(message=message, percentage=percentage))

    def end(self) -> None:
        self._send(types.WorkDoneProgressEnd())

    def _send(self, value: Any) -> None:
        self._protocol.notify(types.PROGRESS, types.ProgressParams(token=self._token, value=value))


def run(sidecar: Sidecar, stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Serves on an event loop of its own until the editor is gone."""
    try:
        asyncio.run(sidecar.serve(stdin, stdout))
    except BrokenPipeError:
        log.info("the editor is gone")
