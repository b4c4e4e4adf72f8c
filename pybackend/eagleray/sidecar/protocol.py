"""JSON-RPC as the sidecar speaks it: pygls's protocol, extended to answer every request.

pygls (2.1.1) drops a request that it can't read, or that comes after `shutdown`; its caller would wait forever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
)
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, LanguageServerProtocol

OURS = "eagleray/"


class AnsweringProtocol(LanguageServerProtocol):
    """Reads each message as a whole, keeps the params of our own methods as plain JSON values.

    `answering` returns the function that answers one of these methods.
    """

    answering: Callable[[str], Callable[[Any], Any]]

    def structure_message(self, data: dict[str, Any]) -> Any:
        # json.loads calls this for every object inside a message too; those stay as they are.
        return data

    def handle_message(self, message: Any) -> None:
        if not isinstance(message, dict):
            self._refuse(None, JsonRpcInvalidRequest("a message is one object"))
            return
        request_id = message.get("id") if "method" in message else None
        try:
            if request_id is not None and self._shutdown and message["method"] != types.EXIT:
                raise JsonRpcInvalidRequest("the sidecar is shutting down")
            structured = self._structured(message)
        except JsonRpcException as error:
            if request_id is not None:
                self._refuse(request_id, error)
            return
        super().handle_message(structured)

    def _get_handler(self, feature_name: str) -> Any:
        if feature_name.startswith(OURS):
            return self.answering(feature_name)
        return super()._get_handler(feature_name)

    def refuse_unreadable(self) -> None:
        """Answers a message that isn't JSON."""
        self._refuse(None, JsonRpcParseError("not JSON"))

    def _structured(self, message: dict[str, Any]) -> Any:
        method = message.get("method", "")
        if not isinstance(method, str):
            raise JsonRpcInvalidRequest("the method is no text")
        if method.startswith(OURS):
            if "id" in message:
                return JsonRPCRequestMessage(message["id"], method, "2.0", message.get("params"))
            return JsonRPCNotification(method, "2.0", message.get("params"))
        try:
            return super().structure_message(message)
        except JsonRpcException:
            raise
        except Exception as error:
            raise JsonRpcInvalidParams() from error

    def _refuse(self, request_id: Any, error: JsonRpcException) -> None:
        # Written out by hand: `_send_response` leaves the id out when it is null.
        fields = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": request_id, "error": fields})
