"""Handles the requests about debugging."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagleray.debug.attaching import messages
from eagleray.debug.attaching.actions import ActionResult
from eagleray.debug.attaching.model import Attachment, HeldLong, IgnoredBreakpoint
from eagleray.protocol.adapter_control import WorkerState

if TYPE_CHECKING:
    from eagleray.adapter_client.sessions import AdapterSessions
    from eagleray.debug.attaching.debugging import Debugging
    from eagleray.wire.requests import ReportProgress, RequestServer


def register(server: RequestServer, debugging: Debugging, sessions: AdapterSessions) -> None:
    """Answers the requests of this feature, and runs the reminder and the ignored breakpoints."""
    actions = debugging.actions

    async def attach(params: messages.Attach, report: ReportProgress) -> Attachment:
        return await debugging.attacher.attach(
            params.cluster,
            params.worker,
            params.workspace_folders,
            report,
            params.unless_taken,
        )

    async def continue_(params: messages.Workers) -> messages.Outcome:
        return outcome(await actions.continue_(params.cluster, params.worker_ids))

    async def continue_others(params: messages.Workers) -> messages.Outcome:
        return outcome(await actions.continue_others(params.cluster, params.worker_ids))

    async def release(params: messages.Workers) -> messages.Outcome:
        return outcome(await actions.release(params.cluster, params.worker_ids))

    async def ignore(params: messages.Workers) -> messages.Outcome:
        return outcome(await actions.ignore(params.cluster, params.worker_ids))

    async def ignored() -> messages.IgnoredBreakpoints:
        return messages.IgnoredBreakpoints(await debugging.ignorer.rules())

    async def forget(params: IgnoredBreakpoint) -> None:
        await debugging.ignorer.forget(params.cluster, params.path, params.line)

    server.on_request(messages.ATTACH, attach)
    server.on_request(messages.CONTINUE, continue_)
    server.on_request(messages.CONTINUE_OTHERS, continue_others)
    server.on_request(messages.RELEASE, release)
    server.on_request(messages.IGNORE, ignore)
    server.on_request(messages.IGNORED, ignored)
    server.on_request(messages.FORGET_IGNORED, forget)

    def notify(held: HeldLong) -> None:
        server.notify(messages.HELD_LONG, held)

    async def remind() -> None:
        reminder = debugging.reminder(notify)

        def update(states: list[WorkerState]) -> None:
            reminder.update(states)

        end = sessions.listen(update)
        try:
            await reminder.run()
        finally:
            end()

    server.in_background("reminder", remind)
    server.in_background("ignored breakpoints", debugging.continue_ignored)


def outcome(result: ActionResult) -> messages.Outcome:
    """A result with the sentences of the catalogue."""
    failures = [
        messages.Failure(f.worker_id, f.name, f.error.code, f.error.message, f.error.shown_step)
        for f in result.failed
    ]
    return messages.Outcome(result.done, failures, list(result.ignored))
