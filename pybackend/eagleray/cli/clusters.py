"""`eagleray clusters`: the known clusters and their state."""

from __future__ import annotations

import argparse
import sys

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_json
from eagleray.cli.json_shapes import cluster_json
from eagleray.cli.output import duration, print_json, say, step_now
from eagleray.features.clusters.model import Cluster, ClusterList
from eagleray.ray.errors import no_clusters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_json(parser)


async def run(app: App, arguments: argparse.Namespace) -> int:
    if arguments.cluster:
        wanted = await app.clusters.inspect(arguments.cluster, say)
        await app.jobs.poll_clusters()
        every = app.clusters.current().clusters
        clusters = ClusterList(tuple(item for item in every if item.id == wanted), ())
    else:
        await app.clusters.refresh()
        await app.jobs.poll_clusters()
        clusters = app.clusters.current()
    if arguments.json:
        print_json([cluster_json(cluster) for cluster in clusters.clusters])
    else:
        _print_clusters(clusters)
        if not clusters.clusters and not clusters.hints:
            say(str(no_clusters()))
    # A cluster that doesn't answer is a failure only if the user named it.
    is_failed = arguments.cluster and any(
        cluster.state != "connected" for cluster in clusters.clusters
    )
    return 1 if is_failed else 0


def _print_clusters(every: ClusterList) -> None:
    for view in every.clusters:
        route = view.route
        state = route.state if route and route.state != "ready" else ""
        via = f"via {route.via}" if route else ""
        connection = ", ".join(filter(None, [via, state, _left(view)]))
        print(view.id, view.sentence, *([f"({connection})"] if connection else []), sep="  ")
        for problem in view.problems:
            # The first problem is often what the sentence says already.
            message = [problem.message] if problem.message != view.sentence else []
            print("   ", *message, step_now(problem))
    for hint in every.hints:
        print(f"{hint.message} {step_now(hint)}".rstrip(), file=sys.stderr)


def _left(view: Cluster) -> str:
    return duration(view.time_left_s) if view.time_left_s else ""
