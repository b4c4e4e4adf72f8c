"""`eagleray workers continue` and `detach`: workers resume, and held ones are given up."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_json, add_workers, check_workers
from eagleray.cli.debug.shapes import outcome_json
from eagleray.cli.output import error_text, print_json, say
from eagleray.cli.targets import chosen, cluster_ids, fitting, suggesting
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import counted
from eagleray.common.worker_errors import ambiguous_worker, unknown_worker
from eagleray.protocol.adapter_control import WorkerState


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_json(parser)
    add_workers(parser)


def check(arguments: argparse.Namespace) -> str:
    return check_workers(arguments)


async def continue_(app: App, arguments: argparse.Namespace) -> int:
    ids = await cluster_ids(app, arguments)
    targets = await chosen(app, ids, arguments)
    failures: list[tuple[str, EaglerayError]] = []
    for cluster in ids:
        of_cluster = [t.worker_id for t in targets if t.cluster == cluster]
        result = await app.debugging.actions.continue_(cluster, of_cluster)
        failures += [(failed.name, failed.error) for failed in result.failed]
    done = len(targets) - len(failures)
    text = counted(done, "Resumed {n} worker.", "Resumed {n} workers.")
    return _outcome(arguments, text, done, failures)


async def release(app: App, arguments: argparse.Namespace) -> int:
    """Asks the adapters alone, so that held workers can be released when no dashboard answers."""
    held = [state for state in await app.adapters.sessions.workers() if state.state != "gone"]
    if arguments.cluster:
        cluster = await app.clusters.resolve(arguments.cluster, say)
        held = [state for state in held if state.cluster == cluster]
    selected = held if arguments.all else [_held(held, worker) for worker in arguments.workers]
    failures = []
    for state in selected:
        try:
            await app.adapters.sessions.release(state.session, state.worker_id)
        except EaglerayError as error:
            failures.append((state.name, error))
    done = len(selected) - len(failures)
    text = counted(done, "Detached from {n} worker.", "Detached from {n} workers.")
    return _outcome(arguments, text, done, failures)


def _held(held: Sequence[WorkerState], worker: str) -> WorkerState:
    named = fitting(held, worker)
    if not named:
        raise suggesting(unknown_worker(worker), worker, (state.name for state in held))
    if len(named) > 1:
        raise ambiguous_worker(worker, len(named))
    return next(state for state in held if state.worker_id == named[0])


def _outcome(
    arguments: argparse.Namespace, text: str, done: int, failures: list[tuple[str, EaglerayError]]
) -> int:
    if arguments.json:
        print_json(outcome_json(done, failures))
    else:
        say(text)
        for name, error in failures:
            say(f"{name}: {error_text(error)}")
    return 1 if failures else 0
