"""Verdicts that Ray's own list of tasks proves (`ray-get-cycle`, `starvation`, `asyncio`)."""

from __future__ import annotations

from collections.abc import Iterator

from eagleray.observe.hangs import ray_readings
from eagleray.observe.hangs.rules.scene import Scene
from eagleray.observe.hangs.verdict import Reading


def ray_get_cycle(scene: Scene) -> Iterator[Reading]:
    if scene.is_first:
        yield from ray_readings.ray_get_cycle(scene.evidence)


def starvation(scene: Scene) -> Iterator[Reading]:
    if scene.is_first:
        yield from ray_readings.starvation(scene.evidence)


def awaiting_actors(scene: Scene) -> Iterator[Reading]:
    if scene.is_first:
        yield from ray_readings.awaiting_actors(scene.evidence)
