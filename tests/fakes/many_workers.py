"""Workers without a debugger behind them, for what an adapter does with very many of them."""

from __future__ import annotations

import asyncio

from eagleray.adapter.sessions.worker_session import WorkerSession
from eagleray.protocol.adapter_control import AttachParams, WorkerStop


class FakeWorker(WorkerSession):
    """Attaches and stops at once, or after `delay_s`."""

    delay_s = 0.0

    async def attach(self) -> None:
        await asyncio.sleep(self.delay_s)
        path = f"/home/user/project/src/trainer/{self.params.name}/rollout_worker.py"
        self._stop = WorkerStop("breakpoint", path, 217, "PolicyWorker.train_step", "", 1)
        self.state = "stopped"
        self._changed()

    async def release(self) -> None:
        self._finish("")


def params(number: int) -> AttachParams:
    name = f"PolicyWorker r{number}"
    return AttachParams(
        "session_2026-01-01", f"{number:056x}", "http://c:8265", name, "127.0.0.1", number + 1
    )
