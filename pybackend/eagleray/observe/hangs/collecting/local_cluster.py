"""Takes a picture of some workers of a cluster whose nodes are all this machine, without a job in it."""

from __future__ import annotations

import asyncio
import time

from eagleray.observe.hangs.collecting.cluster import part_of, rows_of
from eagleray.observe.hangs.collecting.local_sampling import sampled
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import evidence
from eagleray.observe.hangs.model import Picture
from eagleray.observe.hangs.picture import picture
from eagleray.ray.dashboard import Dashboard


async def take_here(
    dashboard: Dashboard, workers: str, paused: int, pause_s: float
) -> Picture | None:
    """The picture of the `workers` of a cluster and of what they have started.

    None if they are on several nodes or not on this machine, or if there are no more than the `paused`: then no process
    waits for these.
    """
    nodes, listed = await asyncio.gather(dashboard.nodes(), rows_of(dashboard))
    names = part_of(nodes, listed, (), workers)
    members = {node_id: each for node_id, each in names.items() if each.pids}
    if len(members) != 1 or len(next(iter(members.values())).pids) <= paused:
        return None
    local = await dashboard.local_nodes(nodes)
    if not members.keys() <= local.keys():
        return None
    plan = SamplingPlan(pause_s=pause_s)
    samples = (await sampled(local, members, plan)).values()
    taken = evidence(list(samples), pause_s, is_whole=True, workers=workers)
    return picture(taken, diagnosis(taken), time.time())
