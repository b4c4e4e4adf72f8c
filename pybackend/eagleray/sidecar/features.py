"""Registers the requests of every area; some areas only when they are first used, so that the start is quick."""

from __future__ import annotations

import asyncio

from eagleray.app import App, Settings
from eagleray.clusters import handlers as clusters
from eagleray.debug.attaching import handlers as debugging
from eagleray.debug.workers import handlers as workers
from eagleray.profile.recordings import handlers as profiling
from eagleray.runs import handlers as runs
from eagleray.wire.requests import RequestServer

_HANGS = "eagleray/hangs/"


def build_server(settings: Settings) -> RequestServer:
    """Returns a server that answers the requests of every area."""
    app = App(settings)
    server = RequestServer()
    register(server, app)
    server.on_stop(app.close)
    return server


def register(server: RequestServer, app: App) -> None:
    """Registers the requests of every area with the objects that answer them."""
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
    debugging.register(server, app.debugging, app.adapters.sessions)
    runs.register(server, app.runs, app.preparing, app.cluster_pythons)
    profiling.register(server, app.profiling, app.runs)
    _register_later(server, app)

    async def explain_paused() -> None:
        await _first_paused(app)
        await server.read(_HANGS)
        await app.sentences.run()

    server.in_background("sentences of paused workers", explain_paused)


def _register_later(server: RequestServer, app: App) -> None:
    def source_mapping() -> None:
        from eagleray.debug.source_mapping import handlers

        handlers.register(server, app.source_mapping)

    def pdb() -> None:
        from eagleray.debug.pdb import handlers

        handlers.register(server, app.pdb, app.settings.ssh.program)

    def inspections() -> None:
        from eagleray.observe.look_inside import handlers

        handlers.register(server, app.inspections, trusted=app.settings.trusted)

    def presets() -> None:
        from eagleray.runs.presets import handlers

        handlers.register(server, app.preparing, app.debug_runs, trusted=app.settings.trusted)

    def reports() -> None:
        from eagleray.profile.reports import handlers

        handlers.register(server, app.reports)

    def hangs() -> None:
        from eagleray.observe.hangs import handlers

        handlers.register(server, app.pictures, app.sentences)

    def inference() -> None:
        from eagleray.rollouts.servers import handlers

        handlers.register(server, app.servers)

    def doctor() -> None:
        from eagleray.doctor import handlers

        handlers.register(server, app.doctor)

    def rollouts() -> None:
        from eagleray.rollouts import handlers

        trusted = app.settings.trusted
        handlers.register(server, app.trajectories, app.runs, app.servers, trusted=trusted)

    def page() -> None:
        from eagleray.page import handlers

        handlers.register(server)

    server.later("eagleray/page/", page)
    server.later(_HANGS, hangs)
    server.later("eagleray/sourceMapping/", source_mapping)
    server.later("eagleray/pdb/", pdb)
    server.later("eagleray/inspections/", inspections)
    server.later("eagleray/presets/", presets)
    server.later("eagleray/reports/", reports)
    server.later("eagleray/inference/", inference)
    server.later("eagleray/doctor/", doctor)
    server.later("eagleray/rollouts/", rollouts)


async def _first_paused(app: App) -> None:
    """Waits until a worker is paused."""
    changed = asyncio.Event()
    end = app.workers.on_change(changed.set)
    try:
        while not app.workers.groups():
            await changed.wait()
            changed.clear()
    finally:
        end()
