"""Engines whose controller prints each call as JSON; an item "reject" is rejected, {"wait": FILE} ends once the file is there."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import time
from pathlib import Path
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
        # AReaL starts the engine's server by this name, with `sys.path` as PYTHONPATH.
        python = shutil.which("python3")
        _say("initialize", role=role, server_args=server_args, python=python, path=sys.path)

    def start_proxy(self) -> None:
        _say("start_proxy")

    def rollout_batch(self, items: list[Any], **arguments: Any) -> list[Any]:
        # As the processes that run agents do.
        imported = importlib.util.find_spec(arguments["workflow"].rpartition(".")[0])
        _say("rollout_batch", **arguments, origin=imported.origin if imported else "")
        if any(item == "raise" for item in items):
            raise RuntimeError("the engine has ended")
        accepted: list[Any] = []
        for number, item in enumerate(items):
            self._count("Submit", len(items) - number - 1, 1, len(accepted), number)
            while isinstance(item, dict) and not Path(item["wait"]).exists():
                time.sleep(0.01)
            if item != "reject":
                accepted.append(item)
            event = "Finish but reject" if item == "reject" else "Finish and accept"
            self._count(event, len(items) - number - 1, 0, len(accepted), number + 1)
        return accepted

    def _count(self, event: str, enqueued: int, running: int, accepted: int, ended: int) -> None:
        if self._config.enable_rollout_tracing:
            counts = f"accepted: {accepted}, rejected: {ended - accepted}."
            print(
                f"INFO: {event} rollout. enqueued: {enqueued}, running: {running}, {counts}",
                flush=True,
            )

    def destroy(self) -> None:
        _say("destroy")


def _say(call: str, **arguments: Any) -> None:
    print(json.dumps({"call": call, **arguments}), flush=True)
