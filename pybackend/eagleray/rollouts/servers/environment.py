"""The environment variables by which programs find an inference server."""

from __future__ import annotations

import shlex

from eagleray.rollouts.servers.errors import server_not_ready
from eagleray.rollouts.servers.model import InferenceServer

# OpenAI's clients refuse an empty key; servers without one ignore it.
NO_KEY = "EMPTY"


def environment_of(server: InferenceServer) -> dict[str, str]:
    """The variables of OpenAI's and Anthropic's clients, and of AReaL, whose addresses have no scheme and no `/v1`.

    Raises `server-not-ready` for a server that doesn't listen.
    """
    if not server.url:
        raise server_not_ready(server.name, server.reason)
    root = server.url.removesuffix("/v1")
    key = server.api_key or NO_KEY
    return {
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": key,
        "ANTHROPIC_BASE_URL": root,
        "ANTHROPIC_API_KEY": key,
        "AREAL_LLM_SERVER_ADDRS": root.partition("://")[2],
    }


def export_lines(server: InferenceServer) -> str:
    """The variables as commands of a shell."""
    return "\n".join(
        f"export {name}={shlex.quote(value)}" for name, value in environment_of(server).items()
    )
