"""Engines whose controller prints each call as JSON; items with "reject" are rejected."""

from __future__ import annotations

import json
from typing import Any


class RemoteSGLangEngine:
    @staticmethod
    def as_controller(config: Any, scheduler: Any) -> Controller:
        return Controller(config, scheduler)


class RemotevLLMEngine(RemoteSGLangEngine): ...


class Controller:
    def __init__(self, config: Any, scheduler: Any) -> None:
        self._config = config
        _say("controller", scheduler=type(scheduler).__name__, rollout=vars(config))

    def initialize(self, role: str, server_args: Any) -> None:
        _say("initialize", role=role, server_args=server_args)

    def start_proxy(self) -> None:
        _say("start_proxy")

    def rollout_batch(self, items: list[Any], **arguments: Any) -> list[Any]:
        _say("rollout_batch", **arguments)
        if any(item == "raise" for item in items):
            raise RuntimeError("the engine has ended")
        accepted = [item for item in items if item != "reject"]
        if self._config.enable_rollout_tracing:
            rejected = len(items) - len(accepted)
            counts = f"enqueued: 0, running: 0, accepted: {len(accepted)}, rejected: {rejected}."
            print(f"INFO: Finish and accept rollout. {counts}", flush=True)
        return accepted

    def destroy(self) -> None:
        _say("destroy")


def _say(call: str, **arguments: Any) -> None:
    print(json.dumps({"call": call, **arguments}), flush=True)
