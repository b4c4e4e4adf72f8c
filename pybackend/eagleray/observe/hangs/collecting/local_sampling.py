"""Samples the nodes of a cluster that are this machine: what their raylets have started, and their drivers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from functools import partial

from eagleray.observe.hangs.collecting.local import OnRound, Wait, sampled_in_thread
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.ray_names import NodeNames
from eagleray.ray.local_nodes import LocalNode
from eagleray.remote.inspecting.flight_record_socket import served_records
from eagleray.remote.sampling.node_actor import processes_of
from eagleray.remote.sampling.node_sampler import NodeSamples, sample_processes
from eagleray.remote.sampling.pyspy_dumps import Tools
from eagleray.tools.pyspy import find_program


async def sampled(
    nodes: Mapping[str, LocalNode], names: Mapping[str, NodeNames], plan: SamplingPlan
) -> dict[str, NodeSamples]:
    """The samples of the nodes in `names`, all of which are in `nodes`; a cancellation ends them after their round."""
    rounds = dict.fromkeys(names, 0)
    reported = 0

    def on_round(node_id: str, done: int, all_rounds: int) -> None:
        nonlocal reported
        rounds[node_id] = done
        if (least := min(rounds.values())) > reported:
            reported = least
            plan.on_progress(least, all_rounds)

    samples = await asyncio.gather(
        *(
            sampled_in_thread(
                partial(_sampled, nodes[node_id], each, plan),
                partial(on_round, node_id),
                plan.rounds,
            )
            for node_id, each in names.items()
        )
    )
    return dict(zip(names, samples, strict=True))


def _sampled(
    node: LocalNode, names: NodeNames, plan: SamplingPlan, on_round: OnRound, wait: Wait
) -> NodeSamples:
    processes = processes_of(
        node.raylet,
        names.host,
        names.named,
        names.drivers,
        (os.getpid(),),
        names.workers,
        names.jobs,
        names.is_part,
    )
    return sample_processes(
        processes,
        Tools(find_program(), served_records),
        rounds=plan.rounds,
        pause_s=plan.pause_s,
        host=names.host,
        on_round=on_round,
        wait=wait,
    )
