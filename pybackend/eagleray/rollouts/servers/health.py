"""Asks a server whether it serves: `/health`, its models, and one real token.

`/v1/models` answers before an engine can generate, and `/health` of some programs does not exist (gpustack/gpustack#6203);
only a token proves it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Literal

import aiohttp
from attrs import field, frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import t

# An engine compiles kernels for its first token: vLLM 0.32 on a CPU took 17 s.
TOKEN_S = 300.0
# One that has bound its port but doesn't accept yet lets the request wait, and answers it the moment it can.
STARTING_HEALTH_S = 30.0
HEALTH_S = 5.0
_MODELS_S = 30.0
_MOST_BYTES = 2**20
_NO_SUCH = frozenset({400, 404, 405, 422, 501})
_REFUSED = frozenset({401, 403})

# "closed": nothing accepts a connection.  "waiting": it does, but isn't ready.  "foreign": it doesn't speak HTTP.
Health = Literal["closed", "waiting", "foreign", "ok"]
# "token": it has generated one.  "no-token": it answers, but generates none.
Outcome = Literal["token", "refused", "no-token", "waiting"]


@frozen
class FirstToken:
    """The outcome of a request for one token; `detail` is what the server answered instead."""

    outcome: Outcome
    model: str = ""
    detail: str = ""


@frozen
class _Reply:
    status: int
    body: bytes = field(repr=False)

    def json(self) -> Mapping[str, Any]:
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


class ServerProbe:
    """Sends the requests; its owner closes it.  No proxy of the environment is used, and no redirect followed."""

    def __init__(self, api_key: str) -> None:
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def health(self, url: str, limit_s: float = HEALTH_S) -> Health:
        """A program without `/health` that answers something is "ok"; 5xx means that it isn't ready."""
        try:
            reply = await self._send("GET", url.removesuffix("/v1") + "/health", limit_s)
        except aiohttp.ClientConnectorError:
            return "closed"
        except asyncio.TimeoutError:
            return "waiting"
        except (aiohttp.ClientError, OSError, ValueError):
            return "foreign"
        return "waiting" if reply.status >= 500 else "ok"

    async def first_token(
        self, url: str, *, named: str = "", on_demand: bool = False
    ) -> FirstToken:
        """Requests one token.

        1. `named` is the model, else the first that it lists.
        2. With `on_demand` and no name it is not asked for a token, since it would load any model for it.
        3. Completions take any model; a chat template is needed for the chat, which some have alone.
        """
        try:
            listed = await self._send("GET", f"{url}/models", _MODELS_S)
            if listed.status in _REFUSED:
                return FirstToken("refused")
            if listed.status >= 500:
                return FirstToken("waiting", detail=_said(listed))
            model = named if named and on_demand else _first_model(listed) or named
            if on_demand and not named:
                return FirstToken("token")
            return await self._token(url, model)
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            return FirstToken("waiting", detail=printable(str(error) or type(error).__name__))

    async def _token(self, url: str, model: str) -> FirstToken:
        plain = {"model": model or "default", "max_tokens": 1, "temperature": 0}
        messages = [{"role": "user", "content": "Hi"}]
        reply = await self._send("POST", f"{url}/completions", TOKEN_S, {**plain, "prompt": "Hi"})
        if reply.status in _NO_SUCH:
            reply = await self._send(
                "POST", f"{url}/chat/completions", TOKEN_S, {**plain, "messages": messages}
            )
        if reply.status in _REFUSED:
            return FirstToken("refused", model)
        answer = reply.json()
        if reply.status == 200 and answer.get("choices"):
            usage = answer.get("usage")
            # Where the server counts, a well-formed answer may have no token (a full context, a wrong chat template).
            if isinstance(usage, dict) and usage.get("completion_tokens") == 0:
                return FirstToken("no-token", model, t("its answer has 0 tokens."))
            return FirstToken("token", model)
        kind: Outcome = "no-token" if reply.status < 500 else "waiting"
        return FirstToken(kind, model, _said(reply))

    async def _send(
        self, method: str, url: str, limit_s: float, body: Mapping[str, Any] | None = None
    ) -> _Reply:
        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=False, headers=self._headers)
        limit = aiohttp.ClientTimeout(total=limit_s, connect=HEALTH_S)
        async with self._session.request(
            method, url, json=body, timeout=limit, allow_redirects=False
        ) as response:
            return _Reply(response.status, await response.content.read(_MOST_BYTES))


def _first_model(reply: _Reply) -> str:
    data = reply.json().get("data")
    first = data[0] if isinstance(data, list) and data else None
    name = first.get("id") if isinstance(first, dict) else None
    return name if isinstance(name, str) else ""


def _said(reply: _Reply) -> str:
    error = reply.json().get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return printable(
        f"HTTP {reply.status} {message if isinstance(message, str) else ''}".strip(), 160
    )
