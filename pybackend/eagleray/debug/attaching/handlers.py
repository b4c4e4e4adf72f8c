"""Handles the requests about debugging."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from eagleray.debug.attaching import messages
from eagleray.debug.attaching.actions import ActionResult
from eagleray.debug.attaching.model import Attachment, HeldLong
from eagleray.protocol.adapter_control import WorkerState

if TYPE_CHECKING:
    from eagleray.adapter_client.sessions import AdapterSessions
    from eagleray.debug.attaching.debugging import Debugging
    from eagleray.wire.requests import ReportProgress, Request, RequestServer


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

    def act(
        request: Request[messages.Workers, messages.Outcome],
        action: Callable[[str, list[str]], Awaitable[ActionResult]],
    ) -> None:
        async def answer(params: messages.Workers) -> messages.Outcome:
            return outcome(await action(params.cluster, params.worker_ids))

        server.on_request(request, answer)

    async def ignored() -> messages.IgnoredBreakpoints:
        return messages.IgnoredBreakpoints(await debugging.ignorer.rules())

    server.on_request(messages.ATTACH, attach)
    act(messages.CONTINUE, actions.continue_)
    act(messages.CONTINUE_OTHERS, actions.continue_others)
    act(messages.RELEASE, actions.release)
    act(messages.IGNORE, actions.ignore)
    ignorer = debugging.ignorer
    server.on_request(messages.IGNORED, ignored)
    server.on_request(
        messages.FORGET_IGNORED, lambda rule: ignorer.forget(rule.cluster, rule.path, rule.line)
    )

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
