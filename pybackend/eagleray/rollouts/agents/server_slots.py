"""How many requests a server computes at once, where it says so: llama.cpp in `total_slots` of `/props` (b10.2026)."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError
from eagleray.rollouts.comparing.engines.http import (
    EngineAddress,
    EngineHttp,
    RefusedRequest,
)

# llama.cpp answers when a thread is free: idle connections hold each for up to 5 s.
_ANSWER_S = 15.0


async def server_slots(base_url: str, api_key: str) -> int | None:
    """None for a server that doesn't say it, or doesn't answer."""
    http = EngineHttp(EngineAddress("", base_url, api_key))
    try:
        answer = await http.get("/props", _ANSWER_S)
    except (EaglerayError, RefusedRequest):
        return None
    finally:
        await http.close()
    slots = answer.get("total_slots") if isinstance(answer, dict) else None
    return slots if type(slots) is int and slots > 0 else None
