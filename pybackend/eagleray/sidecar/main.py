"""The sidecar's process: standard output is JSON-RPC and nothing else, the log is standard error."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from eagleray.sidecar.server import Sidecar, run


def main(arguments: list[str]) -> int:
    """Runs `sidecar [--log LEVEL]`, which answers the editor until it disconnects."""
    level = arguments[1] if arguments[:1] == ["--log"] and len(arguments) > 1 else "info"
    _start_log(level)
    stdout = os.fdopen(os.dup(1), "wb")
    # Output of a library or a child process must not come between the messages.
    os.dup2(2, 1)
    run(Sidecar(_build), sys.stdin.buffer, stdout)
    return 0


def _build(options: dict[str, Any]) -> Any:
    from eagleray.app import Settings
    from eagleray.common.atomic_file import remove_unfinished
    from eagleray.common.paths import home
    from eagleray.sidecar.features import build_server

    for folder in (home(), home() / "presets"):
        remove_unfinished(folder)
    return build_server(Settings.read(options, dict(os.environ)))


def _start_log(level: str) -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=level.upper() if level in ("debug", "info", "warning", "error") else "INFO",
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    # pygls (2.1.1, `json_rpc.py`) logs the params of requests, tokens among them, and every message that it sends.
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    for noisy in ("asyncio", "aiohttp"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
