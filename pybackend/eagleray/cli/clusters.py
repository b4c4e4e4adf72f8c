"""`eagleray clusters`: the known clusters and their state."""

from __future__ import annotations

import argparse
import sys

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_json
from eagleray.cli.json_shapes import cluster_json
from eagleray.cli.output import duration, print_json, say, step_now
from eagleray.features.clusters.known import AllKnown
from eagleray.features.clusters.reaching import Reach
from eagleray.ray.errors import no_clusters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_json(parser)


async def run(app: App, arguments: argparse.Namespace) -> int:
    if arguments.cluster:
        wanted = await app.clusters.look_at(arguments.cluster, say)
        await app.jobs.look_at_clusters()
        every = app.clusters.known().clusters
        known = AllKnown(tuple(one for one in every if one.id == wanted), ())
    else:
        await app.clusters.refresh()
        await app.jobs.look_at_clusters()
        known = app.clusters.known()
    if arguments.json:
        print_json([cluster_json(one) for one in known.clusters])
    else:
        _print_clusters(known)
        if not known.clusters and not known.hints:
            say(str(no_clusters()))
    # Of all clusters, one that doesn't answer is nothing special; the one that was named is.
    is_failed = arguments.cluster and any(one.state != "connected" for one in known.clusters)
    return 1 if is_failed else 0


def _print_clusters(every: AllKnown) -> None:
    for known in every.clusters:
        reach = known.reach
        state = reach.route.state if reach.route and reach.route.state != "ready" else ""
        way = ", ".join(filter(None, [reach.via and f"via {reach.via}", state, _left(reach)]))
        print(known.id, known.sentence, *([f"({way})"] if way else []), sep="  ")
        for problem in known.problems:
            # The first problem is often what the sentence says already.
            message = [problem.message] if problem.message != known.sentence else []
            print("   ", *message, step_now(problem))
    for hint in every.hints:
        print(f"{hint.message} {step_now(hint)}".rstrip(), file=sys.stderr)


def _left(reach: Reach) -> str:
    return duration(reach.time_left_s) if reach.time_left_s else ""
