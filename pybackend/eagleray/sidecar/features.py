"""Registers the requests of every feature."""

from __future__ import annotations

from eagleray.app import App, Settings
from eagleray.clusters import handlers as clusters
from eagleray.debug.attaching import handlers as debugging
from eagleray.debug.pdb import handlers as pdb
from eagleray.debug.source_mapping import handlers as source_mapping
from eagleray.debug.workers import handlers as workers
from eagleray.doctor import handlers as doctor
from eagleray.observe.hangs import handlers as hangs
from eagleray.observe.look_inside import handlers as inspections
from eagleray.profile.recordings import handlers as profiling
from eagleray.profile.reports import handlers as reports
from eagleray.rollouts import handlers as rollouts
from eagleray.rollouts.servers import handlers as inference
from eagleray.runs import handlers as runs
from eagleray.runs.presets import handlers as presets
from eagleray.wire.requests import RequestServer


def build_server(settings: Settings) -> RequestServer:
    """Returns a server that answers the requests of every feature."""
    app = App(settings)
    server = RequestServer()
    register(server, app)
    server.on_stop(app.close)
    return server


def register(server: RequestServer, app: App) -> None:
    """Registers the requests of every feature with the objects that answer them."""
    clusters.register(
        server,
        app.clusters,
        app.jobs,
        app.connection_monitor,
        app.terminals,
        app.adapters.routes,
        app.pages,
    )
    workers.register(server, app.workers, app.watch)
    app.workers.on_change(app.connection_monitor.recount)
    source_mapping.register(server, app.source_mapping)
    debugging.register(server, app.debugging, app.adapters.sessions)
    pdb.register(server, app.pdb, app.settings.ssh.program)
    inspections.register(server, app.inspections, trusted=app.settings.trusted)
    runs.register(server, app.runs, app.preparing, app.cluster_pythons)
    presets.register(server, app.preparing, app.debug_runs, trusted=app.settings.trusted)
    profiling.register(server, app.profiling, app.runs)
    reports.register(server, app.reports)
    hangs.register(server, app.pictures, app.sentences)
    inference.register(server, app.servers)
    doctor.register(server, app.doctor)
    rollouts.register(server, app.trajectories, app.runs, app.servers, trusted=app.settings.trusted)
