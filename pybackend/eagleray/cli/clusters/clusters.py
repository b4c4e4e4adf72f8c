"""`eagleray clusters`: lists the clusters and their states, adds and removes clusters."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence

from eagleray.app import App
from eagleray.cli.arguments import ADDRESS_HELP, add_cluster, add_json, completed
from eagleray.cli.clusters.shapes import cluster_json
from eagleray.cli.command_line import did_you_mean
from eagleray.cli.output import error_text, print_json, say, step_now
from eagleray.cli.table import TableColumn, add_list_output, print_rows
from eagleray.clusters.addresses import normalised
from eagleray.clusters.model import Cluster, ClusterList, ClusterStatus
from eagleray.common.durations import duration_text
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.ray.errors import no_clusters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser, t("List only this cluster."))
    add_list_output(parser)


def add_address_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "address", metavar="ADDRESS", help=t("Address: {forms}.", forms=ADDRESS_HELP)
    )
    add_json(parser)


def add_addresses_argument(parser: argparse.ArgumentParser) -> None:
    addresses = parser.add_argument(
        "addresses",
        metavar="ADDRESS",
        nargs="+",
        help=t("Address, as `eagleray clusters` lists it."),
    )
    completed(addresses, "clusters")


async def run(app: App, arguments: argparse.Namespace) -> int:
    if arguments.cluster:
        wanted = await app.clusters.inspect(arguments.cluster, say)
        await app.jobs.poll_clusters()
        await _count_stops(app)
        every = app.clusters.current().clusters
        clusters = ClusterList(tuple(item for item in every if item.id == wanted), ())
    else:
        await app.clusters.refresh()
        await app.jobs.poll_clusters()
        await _count_stops(app)
        clusters = app.clusters.current()
    if arguments.json:
        print_json([cluster_json(cluster) for cluster in clusters.clusters])
    else:
        _print_clusters(clusters, app.watch.statuses(), arguments)
    # A cluster that doesn't answer is a failure only if the user named it.
    is_failed = arguments.cluster and any(
        cluster.state != "connected" for cluster in clusters.clusters
    )
    return 1 if is_failed else 0


async def _count_stops(app: App) -> None:
    # No adapter can have a worker where the home is of no use.
    with contextlib.suppress(EaglerayError):
        await app.workers.refresh_states()


async def add(app: App, arguments: argparse.Namespace) -> int:
    """Adds a cluster to the list that the editor has as well."""
    added = await app.clusters.add(arguments.address, report=say)
    if arguments.json:
        print_json(cluster_json(added))
    else:
        say(t("Added {cluster}.", cluster=added.id))
        say(f"{added.sentence.rstrip('.')}.")
    return 0


async def remove(app: App, arguments: argparse.Namespace) -> int:
    """Removes clusters from the list that the editor has as well."""
    await app.clusters.discover()
    is_failed = False
    for address in arguments.addresses:
        listed = {cluster.id: cluster for cluster in app.clusters.current().clusters}
        try:
            cluster = normalised(address)
            if cluster in listed and listed[cluster].origin != "added":
                say(
                    t(
                        "{cluster} was found on this machine. It is listed while it runs.",
                        cluster=cluster,
                    )
                )
                is_failed = True
                continue
            await app.clusters.remove(cluster)
            say(t("Removed {cluster}.", cluster=cluster))
        except EaglerayError as error:
            added = [item.id for item in listed.values() if item.origin == "added"]
            say(f"eagleray: {error.message}")
            say(did_you_mean(address, added) or step_now(error))
            is_failed = True
    return 1 if is_failed else 0


_COLUMNS = (
    TableColumn("ADDRESS"),
    TableColumn("STATE", states=True),
    TableColumn("RAY"),
    TableColumn("WORKERS"),
    TableColumn("PAUSED"),
    TableColumn("ORIGIN"),
    TableColumn("VIA", optional=True),
    TableColumn("TIME-LEFT", optional=True),
    TableColumn("NAME", wide=True),
    TableColumn("SESSION", wide=True),
    TableColumn("JOB", wide=True),
)


def _print_clusters(
    every: ClusterList, statuses: Sequence[ClusterStatus], arguments: argparse.Namespace
) -> None:
    by_id = {status.cluster: status for status in statuses}
    rows = [_row(cluster, by_id.get(cluster.id)) for cluster in every.clusters]
    print_rows(_COLUMNS, rows, [cluster.id for cluster in every.clusters], arguments)
    for cluster in every.clusters:
        if cluster.time_warning:
            say(f"{cluster.id}: {cluster.time_warning}")
        for problem in cluster.problems:
            say(f"{cluster.id}: {error_text(problem)}")
    for hint in every.hints:
        say(error_text(hint))
    if not every.clusters and not every.hints:
        say(error_text(no_clusters()))


def _row(cluster: Cluster, status: ClusterStatus | None) -> list[str]:
    is_connected = status is not None and cluster.state == "connected"
    route = cluster.route
    via = f"{route.via} ({route.state})" if route and route.state != "ready" else ""
    return [
        cluster.id,
        cluster.state,
        cluster.ray_version,
        str(status.live_workers) if is_connected and status and status.live_workers >= 0 else "",
        str(cluster.stops.paused) if is_connected else "",
        cluster.origin,
        via or (route.via if route else ""),
        duration_text(cluster.time_left_s) if cluster.time_left_s else "",
        cluster.name,
        cluster.session,
        cluster.job,
    ]
