"""Records requests of `http.client`, by which requests, urllib3, urllib and botocore send theirs."""

from __future__ import annotations

import functools
import sys

from .unobserved_connections import recorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from .http_recording import Exchange, HttpRecorder

_EXCHANGE = "_eagleray_exchange"
_BODY = "_eagleray_body"
# `urllib3` reads chunks by the last one, and the end of a line after each.
_READS = ("read", "read1", "readinto", "readline", "_safe_read")
_END_OF_CHUNK = b"\r\n"
_HTTPS_PORT = 443


class HttpClientRecording:
    """Wraps the methods of connections and responses; an exchange is held by the object that it concerns."""

    def __init__(self, module: ModuleType, recorder: HttpRecorder) -> None:
        self._recorder = recorder
        connection, response = module.HTTPConnection, module.HTTPResponse
        for name in ("putrequest", "endheaders", "send", "getresponse"):
            original = getattr(connection, name)
            setattr(connection, name, getattr(self, f"_{name}")(original))
        for name in _READS:
            setattr(response, name, self._reading(getattr(response, name)))
        response.close = self._close(response.close)

    def _putrequest(self, original: Any) -> Any:
        @functools.wraps(original)
        def putrequest(connection: Any, method: str, url: str, *args: Any, **kwargs: Any) -> None:
            original(connection, method, url, *args, **kwargs)
            vars(connection).pop(_BODY, None)
            exchange = self._recorder.begin(method, _url_of(connection, url))
            vars(connection)[_EXCHANGE] = exchange

        return putrequest

    def _endheaders(self, original: Any) -> Any:
        @functools.wraps(original)
        def endheaders(connection: Any, message_body: Any = None, **kwargs: Any) -> None:
            exchange = vars(connection).get(_EXCHANGE)
            if exchange is None:
                original(connection, message_body, **kwargs)
                return
            self._sent(exchange, message_body)
            try:
                with recorded(), self._recorder.blocking.measured():
                    original(connection, message_body, **kwargs)
            except BaseException as error:
                self._recorder.ended(exchange, error)
                raise
            vars(connection)[_BODY] = True

        return endheaders

    def _send(self, original: Any) -> Any:
        @functools.wraps(original)
        def send(connection: Any, data: Any) -> None:
            exchange = vars(connection).get(_EXCHANGE)
            # Before, it is the headers.
            if exchange is not None and _BODY in vars(connection):
                self._sent(exchange, data)
            original(connection, data)

        return send

    def _sent(self, exchange: Exchange, data: Any) -> None:
        # A file or an iterator can't be read twice.
        if isinstance(data, (bytes, bytearray)):
            exchange.send(bytes(data))

    def _getresponse(self, original: Any) -> Any:
        @functools.wraps(original)
        def getresponse(connection: Any) -> Any:
            exchange = vars(connection).pop(_EXCHANGE, None)
            if exchange is None:
                return original(connection)
            try:
                with self._recorder.blocking.measured(0):
                    response = original(connection)
            except BaseException as error:
                self._recorder.ended(exchange, error)
                raise
            exchange.begin_response(response.status, response.headers)
            self._hold(response, exchange)
            return response

        return getresponse

    def _hold(self, response: Any, exchange: Exchange) -> None:
        if response.isclosed():
            self._recorder.ended(exchange, None)
        else:
            vars(response)[_EXCHANGE] = exchange

    def _reading(self, original: Any) -> Any:
        @functools.wraps(original)
        def read(response: Any, *args: Any) -> Any:
            # Reads call each other.
            exchange = vars(response).pop(_EXCHANGE, None)
            if exchange is None:
                return original(response, *args)
            try:
                with self._recorder.blocking.measured(0):
                    part = original(response, *args)
            except BaseException as error:
                self._recorder.ended(exchange, error)
                raise
            data = bytes(args[0][:part]) if isinstance(part, int) else part
            if data and data != _END_OF_CHUNK:
                exchange.receive(data)
            self._hold(response, exchange)
            return part

        return read

    def _close(self, original: Any) -> Any:
        @functools.wraps(original)
        def close(response: Any) -> None:
            original(response)
            exchange = vars(response).pop(_EXCHANGE, None)
            if exchange is not None:
                # `urllib3` closes it while it raises why the body has no end.
                error = sys.exc_info()[1]
                self._recorder.ended(exchange, error if isinstance(error, Exception) else None)

        return close


def _url_of(connection: Any, url: str) -> str:
    """A proxy gets whole URLs."""
    if url.startswith("http"):
        return url
    scheme = "https" if connection.default_port == _HTTPS_PORT else "http"
    host = getattr(connection, "_tunnel_host", None) or connection.host
    port = getattr(connection, "_tunnel_port", None) or connection.port
    return f"{scheme}://{host}:{port}{url}"
