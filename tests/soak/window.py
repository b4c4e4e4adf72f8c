"""A sidecar driven as an editor window drives it; it keeps the latest notification of each method."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.sidecar.stdio_client import StdioClient

PROBED = Path(__file__).with_name("probed.py")
LIMIT_S = 120.0
WATCH = "eagleray/workers/watch"
LOG_TEXT = "eagleray/workers/logText"

Json = dict[str, Any]


class Window(StdioClient):
    """Ends with `end()`, or `kill()` as with a crashed editor."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__(process)
        self.latest: dict[str, Any] = {}
        self.log_texts: deque[Json] = deque(maxlen=200)

    @property
    def pid(self) -> int:
        return self.process.pid

    async def until(self, what: str, method: str, fits: Callable[[Any], Any]) -> Any:
        """The first true answer of `fits` to the latest notification of `method`."""
        found: Any = None

        def ready() -> bool:
            nonlocal found
            found = fits(self.latest[method]) if method in self.latest else None
            return bool(found)

        try:
            async with self._heard:
                await asyncio.wait_for(self._heard.wait_for(ready), LIMIT_S)
        except asyncio.TimeoutError as error:
            last = str(self.latest.get(method))[:1500]
            raise AssertionError(f"no {what} within {LIMIT_S:g} s; last: {last}") from error
        return found

    async def _take(self, message: Json) -> None:
        if "method" not in message:
            await super()._take(message)
            return
        async with self._heard:
            params = message.get("params")
            self.latest[message["method"]] = params
            if message["method"] == LOG_TEXT:
                self.log_texts.append(params)
            self._heard.notify_all()


async def opened(env: Mapping[str, str], log: Path) -> Window:
    """A window with its panel visible; its log is appended to the file `log`."""
    with log.open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(PROBED), "sidecar"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env={**env, "PYTHONUNBUFFERED": "1"},
            limit=2**26,
        )
    window = Window(process)
    await window.initialize(discovery="off")
    await window.result(WATCH, {"visible": True})
    return window


def environment(base: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment of everything that the soak starts: temporary files lie in `folder/tmp`, probes in `folder/probes`."""
    for name in ("tmp", "probes"):
        (folder / name).mkdir(exist_ok=True)
    return {
        **base,
        "TMPDIR": str(folder / "tmp"),
        "EAGLERAY_SOAK_PROBES": str(folder / "probes"),
        "EAGLERAY_ADAPTER_IDLE_S": "10",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{base.get('PATH', '')}",
    }
