"""A Ray with simulated nodes, for the driver of the job that samples a cluster: each answers after a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

from eagleray.remote.sampling.node_sampler import Round
from eagleray.remote.sampling.processes import Described


@dataclass(eq=False)
class FakeCall:
    """A call of an actor, whose answer is there at `ready`."""

    answer: Callable[[], Any]
    ready: float


class FakeRay:
    """`nodes` are the processes and the rounds of each node; every call of an actor takes `call_s`."""

    def __init__(
        self, nodes: Sequence[tuple[tuple[Described, ...], tuple[Round, ...]]], call_s: float
    ) -> None:
        self._recorded = nodes
        self._call_s = call_s
        self._created = 0
        for name in ("ray", "ray.util"):
            sys.modules.setdefault(name, ModuleType(name))
        strategies: Any = ModuleType("ray.util.scheduling_strategies")
        strategies.NodeAffinitySchedulingStrategy = lambda node_id, soft: (node_id, soft)
        sys.modules[strategies.__name__] = strategies

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {
                "NodeID": f"node{at}",
                "Alive": True,
                "NodeManagerAddress": f"10.{at >> 8}.{at & 255}.1",
            }
            for at in range(len(self._recorded))
        ]

    def remote(self, _sampler: type) -> SimpleNamespace:
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=self._actor))

    def get_runtime_context(self) -> SimpleNamespace:
        return SimpleNamespace(get_node_id=lambda: "node0")

    def wait(
        self, calls: list[FakeCall], num_returns: int, timeout: float
    ) -> tuple[list[FakeCall], list[FakeCall]]:
        until = time.monotonic() + timeout
        while True:
            now = time.monotonic()
            ready = [call for call in calls if call.ready <= now]
            if len(ready) >= num_returns or now >= until:
                break
            time.sleep(0.001)
        ready = ready[:num_returns]
        taken = set(map(id, ready))
        return ready, [call for call in calls if id(call) not in taken]

    def get(self, call: FakeCall) -> Any:
        return call.answer()

    def _actor(self, *_arguments: Any) -> SimpleNamespace:
        processes, rounds = self._recorded[self._created]
        self._created += 1
        remaining = iter(rounds)

        def call(answer: Callable[[], Any]) -> FakeCall:
            return FakeCall(answer, time.monotonic() + self._call_s)

        return SimpleNamespace(
            processes=SimpleNamespace(remote=lambda: call(lambda: processes)),
            round=SimpleNamespace(remote=lambda is_last: call(lambda: next(remaining))),
        )
