"""Token ids of the prompts of a wave, which llama.cpp's responses lack: its server makes them of the same messages."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from eagleray.common.errors import UNREADABLE_JSON
from eagleray.rollouts.chat_responses import answered_chats, prompt_length
from eagleray.rollouts.comparing.engines.engine import for_each
from eagleray.rollouts.comparing.engines.http import EngineAddress, EngineHttp
from eagleray.rollouts.servers.servers import Servers

_AT_ONCE = 8
_CHAT = "/chat/completions"


@frozen
class Promptless:
    """A run whose completion has token ids and logprobs; `body` is its last request to the server at `url`."""

    url: str
    body: Mapping[str, Any] = field(repr=False)
    prompt_tokens: int
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    reward: float


# The address of the server of a wave by its URL; None for one that isn't the user's, which gets no request.
AddressOf = Callable[[str], Awaitable[EngineAddress | None]]


def promptless(line: str | bytes, reward: float | None) -> Promptless | None:
    """None for a line that has no such completion."""
    try:
        record = json.loads(line)
        ids, logprobs = tuple(record["completion_ids"]), tuple(record["logprobs"])
        *_, chat = answered_chats(record["requests"])
        url = str(chat["url"])
        if reward is None or not ids or len(ids) != len(logprobs) or not url.endswith(_CHAT):
            return None
        return Promptless(
            url.removesuffix(_CHAT),
            chat["request"],
            prompt_length(chat["response"]),
            ids,
            logprobs,
            reward,
        )
    except (*UNREADABLE_JSON, AttributeError, KeyError, TypeError):
        return None


async def rows_with_prompts(
    runs: Sequence[Promptless], address_of: AddressOf
) -> list[dict[str, Any] | None]:
    """A row of the batch for each; None without its server, or if the prompt has another length than it had."""
    prompts: dict[tuple[str, str], tuple[int, ...]] = {}
    for url in dict.fromkeys(run.url for run in runs):
        address = await address_of(url)
        if address is not None:
            prompts |= await _prompts(address, [run for run in runs if run.url == url])
    return [_row(run, prompts.get(_key(run), ())) for run in runs]


def listed_server(servers: Servers, named: str) -> AddressOf:
    """The server that the user names, else the one of the list with that URL; the key of no other is sent anywhere."""

    async def address_of(url: str) -> EngineAddress | None:
        if named:
            server = await servers.resolve(named)
            return EngineAddress(server.name, server.url, server.api_key) if server.url else None
        for server in await servers.list():
            if server.url == url and server.is_live:
                return EngineAddress(server.name, server.url, server.api_key)
        return None

    return address_of


async def _prompts(
    address: EngineAddress, runs: Sequence[Promptless]
) -> dict[tuple[str, str], tuple[int, ...]]:
    """Each prompt once: a group has the same."""
    bodies = {_key(run): run.body for run in runs}
    http = EngineHttp(address)

    async def ids_of(body: Mapping[str, Any]) -> tuple[int, ...]:
        rendered = await http.required("/apply-template", dict(body))
        text = rendered["prompt"] if isinstance(rendered, Mapping) else ""
        request = {"content": text, "add_special": True, "parse_special": True}
        answer = await http.required("/tokenize", request)
        return tuple(answer["tokens"]) if isinstance(answer, Mapping) else ()

    try:
        ids = await for_each(list(bodies.values()), ids_of, _AT_ONCE)
    finally:
        await http.close()
    return dict(zip(bodies, ids, strict=True))


def _key(run: Promptless) -> tuple[str, str]:
    return run.url, json.dumps(run.body, sort_keys=True)


def _row(run: Promptless, prompt: tuple[int, ...]) -> dict[str, Any] | None:
    if not prompt or len(prompt) != run.prompt_tokens:
        return None
    before, after = len(prompt), len(run.ids)
    return {
        "ids": [*prompt, *run.ids],
        "mask": [0] * before + [1] * after,
        "logprobs": [0.0] * before + list(run.logprobs),
        "versions": [-1] * (before + after),
        "reward": run.reward,
    }
