"""What a control client can ask the adapter about runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from eagleray.adapter.runs.runs import Runs
from eagleray.protocol import route_spec
from eagleray.protocol import runs as run_protocol
from eagleray.protocol.control import Mapping
from eagleray.protocol.runs import (
    RunRecording,
    RunRegister,
    RunState,
    RunWorkerAt,
    RunWorkerKey,
    file_lines,
)

Json = dict[str, Any]


def table(runs: Runs) -> dict[str, Callable[[Json], Awaitable[Json]]]:
    """The operations by name."""
    asked = _RunOperations(runs)
    return {
        run_protocol.RUN_REGISTER: asked.register,
        run_protocol.RUN_WORKER: asked.worker,
        run_protocol.RUN_BREAKPOINTS: asked.breakpoints,
        run_protocol.RUN_PAUSE: asked.pause,
        run_protocol.RUN_RECORDING: asked.recording,
        run_protocol.RUN_END: asked.end,
        run_protocol.RUNS: asked.runs,
    }


def runs_json(states: list[RunState]) -> Json:
    return {"runs": [run_protocol.to_json(state) for state in states]}


class _RunOperations:
    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def register(self, params: Json) -> Json:
        known = {key: params[key] for key in RunRegister.__dataclass_fields__ if key in params}
        mappings = [
            Mapping(str(m["remote"]), str(m["local"])) for m in params.get("mappings") or []
        ]
        lines = file_lines(params.get("breakpoints"))
        await self._runs.register(
            RunRegister(**{**known, "mappings": mappings, "breakpoints": lines})
        )
        return {}

    async def worker(self, params: Json) -> Json:
        said = params.get("routes") or [route_spec.to_json(route_spec.DIRECT)]
        routes = [route_spec.of_json(one) for one in said]
        host, port = str(params["host"]), int(params["port"])
        await self._runs.worker(RunWorkerAt(str(params["run"]), host, port, routes))
        return {}

    async def breakpoints(self, params: Json) -> Json:
        await self._runs.breakpoints(str(params["run"]), file_lines(params.get("breakpoints")))
        return {}

    async def pause(self, params: Json) -> Json:
        await self._runs.pause(RunWorkerKey(str(params["run"]), str(params["worker_id"])))
        return {}

    async def recording(self, params: Json) -> Json:
        workers = [str(one) for one in params.get("workers") or []]
        op: Literal["record", "stop_recording"] = (
            "record" if params["op"] == "record" else "stop_recording"
        )
        seconds = float(params.get("seconds") or 0)
        return {
            "asked": self._runs.recording(RunRecording(str(params["run"]), op, workers, seconds))
        }

    async def end(self, params: Json) -> Json:
        await self._runs.end(str(params["run"]))
        return {}

    async def runs(self, params: Json) -> Json:
        return runs_json(self._runs.states())
