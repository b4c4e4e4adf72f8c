"""Takes a picture of some workers of a cluster whose nodes are all this machine, without a job in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable

from eagleray.features.hangs.collecting.cluster import part_of, rows_of
from eagleray.features.hangs.collecting.here import OnRound, Wait, sampled_in_thread
from eagleray.features.hangs.collecting.rounds import ROUNDS, unheard
from eagleray.features.hangs.diagnosis import diagnosis
from eagleray.features.hangs.evidence import evidence
from eagleray.features.hangs.model import Picture
from eagleray.features.hangs.picture import picture
from eagleray.features.hangs.ray_names import NodeNames
from eagleray.inspecting.served_record import served_records
from eagleray.ray.dashboard import Dashboard
from eagleray.sampling import proc
from eagleray.sampling.dumps import Tools
from eagleray.sampling.node import NodeSamples, sample_processes
from eagleray.sampling.processes import Described, described
from eagleray.tools.processes import is_own, local_addresses
from eagleray.tools.pyspy import find_program


async def take_here(
    dashboard: Dashboard, workers: str, paused: int, pause_s: float
) -> Picture | None:
    """The picture of the `workers` of a cluster and of what they have started.

    None if they are on several nodes, on another machine or of another user, or if there are no more than the `paused`:
    then nobody waits for these.
    """
    nodes, listed = await asyncio.gather(dashboard.nodes(), rows_of(dashboard))
    names = part_of(nodes, listed, (), workers)
    members = {node_id: each for node_id, each in names.items() if _pids(each)}
    ips = [node.ip for node in nodes if node.node_id in members]
    node, *more = members.values() or [NodeNames("")]
    pids = _pids(node)
    if more or len(pids) <= paused or not await asyncio.to_thread(_are_here, ips, pids):
        return None

    def sample(on_round: OnRound, wait: Wait) -> NodeSamples:
        return sample_processes(
            _described(node),
            Tools(find_program(), served_records),
            rounds=ROUNDS,
            pause_s=pause_s,
            host=node.host,
            on_round=on_round,
            wait=wait,
        )

    taken = await sampled_in_thread(sample, unheard, ROUNDS)
    sampled = evidence([taken], pause_s, is_whole=True, workers=workers)
    return picture(sampled, diagnosis(sampled), time.time())


def _are_here(ips: Collection[str], pids: Iterable[int]) -> bool:
    """Whether these nodes are this machine and these processes of this user; reads files."""
    return local_addresses().issuperset(ips) and all(map(is_own, pids))


def _pids(node: NodeNames) -> set[int]:
    return {*node.named, *node.workers}


def _described(node: NodeNames) -> list[Described]:
    processes = proc.all_processes()
    pids = proc.descendants(sorted(_pids(node)), processes)
    return described(pids, processes, node.host, node.named)
