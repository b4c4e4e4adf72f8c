"""What each command does."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from eagleray.app import App, Settings, build_app
from eagleray.cli import pdb, printing, profile_command, report_command, run_commands
from eagleray.cli.asking import Asking
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.slurm_errors import no_slurm
from eagleray.common.worker_errors import ambiguous_worker, no_such_worker, unknown_worker
from eagleray.features.clusters.known import AllKnown
from eagleray.features.clusters.ways import via
from eagleray.features.debugging.handlers import attached
from eagleray.features.pdb.target import read as read_target
from eagleray.features.workers.rows import Paused, everyone
from eagleray.injected import tcp_peer
from eagleray.protocol.control import RouteState, WorkerState
from eagleray.protocol.errors import tunnel_ended
from eagleray.protocol.route_spec import RouteSpec
from eagleray.ray.errors import no_clusters

# The line at which a worker waits is nice to have; a command does not wait longer for it.
LOCATE_S = 3.0


def run(asked: argparse.Namespace) -> int:
    """Does what the command line asks for; the answer is the exit code."""
    return asyncio.run(_run(asked))


async def _run(asked: argparse.Namespace) -> int:
    parts = build_app(Settings.read({}, dict(os.environ)))
    # Ended before the parts: a question that is open then is of no use any more.
    asking = Asking(parts.adapters.routes)
    parts.reaching.follow_routes()
    try:
        return await COMMANDS[asked.command](parts, asked)
    finally:
        await asking.close()
        await parts.close()


async def clusters(parts: App, asked: argparse.Namespace) -> int:
    if asked.cluster:
        wanted = await parts.clusters.look_at(asked.cluster, say)
        await parts.jobs.look_at_clusters()
        every = parts.clusters.known().clusters
        known = AllKnown(tuple(one for one in every if one.id == wanted), ())
    else:
        await parts.clusters.refresh()
        await parts.jobs.look_at_clusters()
        known = parts.clusters.known()
    if asked.json:
        printing.print_json([printing.cluster(one) for one in known.clusters])
    else:
        printing.print_clusters(known)
        if not known.clusters and not known.hints:
            say(str(no_clusters()))
    # Of all clusters, one that doesn't answer is nothing special; the one that was named is.
    is_failed = asked.cluster and any(one.state != "connected" for one in known.clusters)
    return 1 if is_failed else 0


async def slurm(parts: App, asked: argparse.Namespace) -> int:
    hosts = asked.host or await parts.jobs.known_hosts()
    if not hosts:
        raise no_slurm("")
    seen = await parts.jobs.look_once(hosts)
    if asked.json:
        printing.print_json([printing.job(one, parts.jobs) for one in seen])
    else:
        printing.print_jobs(seen, parts.jobs)
    failing = [one for host in hosts if (one := parts.jobs.host(host)) and one.error]
    for one in failing:
        assert one.error is not None
        say(f"{one.host or 'this machine'}: {one.error.message} {printing.step_now(one.error)}")
    return 1 if failing else 0


async def tunnel(parts: App, asked: argparse.Namespace) -> int:
    cluster = await parts.clusters.named(asked.cluster_id, say)
    host, port = asked.to or parts.ways.dashboard_at(cluster)
    opened = await parts.ways.open(cluster, host, port, asked.port, shared=asked.shared)
    say(f"{opened.socket} leads to {printable(host)}:{port} until Ctrl-C.")
    if asked.shared or not tcp_peer.is_supported():
        say("Every user of this machine can connect to it while it is open.")
    print(opened.socket, flush=True)
    end = parts.adapters.routes.listen_routes(_say_states())
    try:
        await parts.adapters.routes.sockets_lost()
    finally:
        end()
    raise tunnel_ended(opened.socket)


async def paused(parts: App, asked: argparse.Namespace) -> int:
    ids = await _cluster_ids(parts, asked)
    groups = await parts.workers.refresh(ids, locate_s=LOCATE_S)
    waiting = [worker for worker in everyone(groups) if printing.is_listed(worker)]
    if asked.json:
        printing.print_json([printing.paused(worker) for worker in waiting])
    elif waiting:
        printing.print_groups(groups)
    else:
        print("No worker is paused; `eagleray clusters` says what is seen.", file=sys.stderr)
    return 0


async def attach(parts: App, asked: argparse.Namespace) -> int:
    target = await _find(parts, await _cluster_ids(parts, asked), asked.worker)
    attachment = await parts.debugging.attaching.attach(
        target.cluster, target.worker_id, _folders(asked), lambda _: None
    )
    if asked.json:
        printing.print_json(printing.plain(attached(attachment)))
    else:
        path = printable(attachment.local or attachment.path, 4096)
        place = f"stands at {path}:{attachment.line}"
        print(attachment.name, place if attachment.path else "runs", file=sys.stderr)
        print(attachment.socket)
    return 0


async def continue_(parts: App, asked: argparse.Namespace) -> int:
    ids = await _cluster_ids(parts, asked)
    targets = await _chosen(parts, ids, asked)
    failures: list[tuple[str, EaglerayError]] = []
    for cluster in ids:
        of_cluster = [t.worker_id for t in targets if t.cluster == cluster]
        result = await parts.debugging.actions.continue_(cluster, of_cluster)
        failures += [(failed.name, failed.error) for failed in result.failed]
    return _outcome(asked, "continued", len(targets), failures)


async def release(parts: App, asked: argparse.Namespace) -> int:
    """Asks the adapters alone, so that held workers can be let go when no dashboard answers."""
    held = [state for state in await parts.adapters.sessions.workers() if state.state != "gone"]
    if asked.cluster:
        cluster = await parts.clusters.named(asked.cluster, say)
        held = [state for state in held if state.cluster == cluster]
    chosen = held if asked.all else [_held(held, worker) for worker in asked.workers]
    failures = []
    for state in chosen:
        try:
            await parts.adapters.sessions.release(state.session, state.worker_id)
        except EaglerayError as error:
            failures.append((state.name, error))
    return _outcome(asked, "released", len(chosen), failures)


async def logs(parts: App, asked: argparse.Namespace) -> int:
    from eagleray.features.workers.live_workers import ask_live_workers
    from eagleray.features.workers.logs import Logs, Stream

    stream: Stream = "err" if asked.err else "out"
    reader = Logs(parts.watch.dashboard)
    for cluster in await _cluster_ids(parts, asked):
        live = await ask_live_workers(parts.watch.dashboard(cluster))
        fitting = _fitting([(w.worker_id, w.name) for w in live], asked.worker)
        if len(fitting) > 1:
            raise ambiguous_worker(asked.worker, len(fitting))
        if not fitting:
            continue
        if asked.follow:
            async for part in reader.follow(cluster, fitting[0], stream, asked.lines):
                print(part.text, end="", flush=True)
            return 0
        end = await reader.tail(cluster, fitting[0], stream, asked.lines)
        if asked.json:
            printing.print_json(printing.plain(end))
        else:
            print(end.text, end="" if end.text.endswith("\n") else "\n")
        return 0
    raise no_such_worker(asked.worker)


async def pdb_(parts: App, asked: argparse.Namespace) -> int:
    if asked.at:
        return await pdb.talk(parts, read_target(asked.at))
    return await pdb.run(parts, await _cluster_ids(parts, asked), asked)


COMMANDS = {
    "clusters": clusters,
    "slurm": slurm,
    "tunnel": tunnel,
    "paused": paused,
    "attach": attach,
    "continue": continue_,
    "release": release,
    "logs": logs,
    "pdb": pdb_,
    "run": run_commands.run,
    "profile": profile_command.profile,
    "report": report_command.report,
    "runs": run_commands.runs,
}


def _say_states() -> Callable[[list[RouteState]], None]:
    """Says each change of a route."""
    said: dict[RouteSpec, str] = {}

    def tell(states: list[RouteState]) -> None:
        for one in states:
            if said.setdefault(one.route, "ready") != one.state:
                said[one.route] = one.state
                say(f"{via(one.route) or 'direct'}: {one.state}. {one.reason}".rstrip())

    return tell


def say(message: str) -> None:
    """A word on what is being done, beside the result."""
    print(message, file=sys.stderr, flush=True)


def _folders(asked: argparse.Namespace) -> list[str]:
    return [str(Path(folder).absolute()) for folder in asked.folder or ["."]]


async def _cluster_ids(parts: App, asked: argparse.Namespace) -> list[str]:
    """The cluster that was named, or all that are known and answer; raises if there is none."""
    if asked.cluster:
        return [await parts.clusters.named(asked.cluster, say)]
    await parts.clusters.discover()
    await parts.watch.refresh()
    seen = parts.watch.all_seen()
    answering = [one.cluster for one in seen if one.error is None]
    # A worker of a run is held whether its cluster is known here or not.
    held = [one.cluster for one in await parts.adapters.sessions.workers() if one.state != "gone"]
    if found := list(dict.fromkeys([*answering, *held])):
        return found
    raise next((one.error for one in seen if one.error is not None), no_clusters())


async def _find(parts: App, ids: Sequence[str], worker: str) -> Paused:
    await parts.workers.refresh(ids)
    found = []
    for cluster in ids:
        try:
            found.append(await parts.workers.find(cluster, worker))
        except EaglerayError as error:
            if error.code != "unknown-worker":
                raise
    if not found:
        raise unknown_worker(worker)
    if len(found) > 1:
        raise ambiguous_worker(worker, len(found))
    return found[0]


async def _chosen(parts: App, ids: Sequence[str], asked: argparse.Namespace) -> list[Paused]:
    if asked.all:
        waiting = everyone(await parts.workers.refresh(ids))
        return [worker for worker in waiting if worker.state not in ("running", "gone")]
    return [await _find(parts, ids, worker) for worker in asked.workers]


def _held(held: Sequence[WorkerState], worker: str) -> WorkerState:
    fitting = _fitting([(state.worker_id, state.name) for state in held], worker)
    if not fitting:
        raise unknown_worker(worker)
    if len(fitting) > 1:
        raise ambiguous_worker(worker, len(fitting))
    return next(state for state in held if state.worker_id == fitting[0])


def _fitting(workers: Sequence[tuple[str, str]], text: str) -> list[str]:
    """The ids that `text` means: as an id, else as a name, else as the beginning of an id."""
    exact = [worker_id for worker_id, _ in workers if worker_id == text]
    named = [worker_id for worker_id, name in workers if name == text]
    begun = [worker_id for worker_id, _ in workers if text and worker_id.startswith(text)]
    return exact or named or begun


def _outcome(
    asked: argparse.Namespace, verb: str, count: int, failures: list[tuple[str, EaglerayError]]
) -> int:
    done = count - len(failures)
    if asked.json:
        failed = [{"name": name, "code": e.code, "message": e.message} for name, e in failures]
        printing.print_json({"done": done, "failures": failed})
    else:
        print(f"{done} {verb}", file=sys.stderr)
        for name, error in failures:
            print(f"{name}: {error}", file=sys.stderr)
    return 1 if failures else 0
