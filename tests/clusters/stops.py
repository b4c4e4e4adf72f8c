"""Counts the stopped workers of watched clusters, as the app does with its list of paused workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.stop_counts import CountStops
from eagleray.debug.workers.paused_rows import ListedWorker, count_stops
from eagleray.protocol.adapter_control import WorkerState


def stops_in(watch: ClusterWatch, held: Callable[[], Sequence[WorkerState]] = tuple) -> CountStops:
    return lambda cluster: count_stops(
        [
            ListedWorker(cluster, status.session, row, row.node_id in status.gone_nodes)
            for status in watch.statuses()
            if status.cluster == cluster
            for row in status.paused
        ],
        [state for state in held() if state.cluster == cluster],
    )
