"""The record of an inference server, whatever started it."""

from __future__ import annotations

from attrs import field, frozen

from eagleray.runs.model import ServerState, ServerStatus, server_state
from eagleray.runs.records import StoredRun


@frozen
class InferenceServer:
    """A server that answers OpenAI's API.

    `url` is the base with `/v1`, "" before it listens.  `api_key` is "" for a server without one.  `run_id` is its run, ""
    for an address that was added or typed in.  `reason` is a sentence that says why it isn't ready, `warning` one that the
    user should read all the same.  One that isn't watched by a supervisor has to be asked for its state.
    """

    name: str
    url: str
    api_key: str = field(repr=False)
    state: ServerState
    model: str = ""
    engine: str = ""
    run_id: str = ""
    reason: str = ""
    warning: str = ""
    started: float = 0.0
    is_watched: bool = True

    @property
    def is_live(self) -> bool:
        return self.state not in ("stopped", "failed")


def server_of(run: StoredRun, api_key: str) -> InferenceServer:
    """The server that a run is; the caller has checked that its plan has one."""
    plan, state = run.plan.server, run.state
    assert plan is not None
    status = state.server or ServerStatus("starting")
    return InferenceServer(
        name=plan.name,
        url=status.url,
        api_key=api_key,
        state=server_state(state),
        model=status.model or plan.model,
        engine=plan.engine,
        run_id=run.record.id,
        reason=status.reason or state.note,
        warning=status.warning,
        started=state.started,
        is_watched=state.phase != "unwatched",
    )
