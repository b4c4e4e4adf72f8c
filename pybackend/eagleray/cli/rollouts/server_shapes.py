"""Inference servers in `--json`."""

from __future__ import annotations

from eagleray.cli.json_shapes import VERSION, VERSIONED, Field, Json, Shape, shaped
from eagleray.rollouts.servers.environment import environment_of
from eagleray.rollouts.servers.model import InferenceServer

_SERVER: Shape = {
    **VERSIONED,
    "name": Field("what `eagleray serve` takes"),
    "url": Field('base of its API with /v1, "" before it listens'),
}
SERVER: Shape = {
    **_SERVER,
    "state": Field('"starting", "ready", "unhealthy", "stopping", "stopped" or "failed"'),
    "model": Field('what it serves, "" if unknown'),
    "engine": Field('"vllm", "sglang", "llama.cpp", "transformers" or ""'),
    "run_id": Field('id of its run, "" for an added address'),
    "has_key": Field("whether it has an API key", "boolean"),
    "reason": Field("why it isn't ready"),
    "warning": Field('what you should know of it, else ""'),
}
STARTED_SERVER: Shape = {**_SERVER, "api_key": Field("its API key"), **SERVER}
SERVER_VARIABLES: Shape = {
    **VERSIONED,
    "OPENAI_BASE_URL": Field("URL with /v1"),
    "OPENAI_API_KEY": Field('its key, "EMPTY" for none'),
    "ANTHROPIC_BASE_URL": Field("URL without /v1"),
    "ANTHROPIC_API_KEY": Field("the same key"),
    "AREAL_LLM_SERVER_ADDRS": Field("host:port"),
}


def server_json(server: InferenceServer) -> Json:
    """Without its key."""
    return shaped(server, SERVER, has_key=bool(server.api_key))


def started_server_json(server: InferenceServer) -> Json:
    """With its key: the caller has started it."""
    return shaped(server, STARTED_SERVER, has_key=bool(server.api_key))


def server_variables_json(server: InferenceServer) -> Json:
    return {"version": VERSION, **environment_of(server)}
