"""Says that runs failed because the server didn't answer: it ended, or the link to it was cut."""

from __future__ import annotations

from collections import Counter

from eagleray.common.l10n import counted
from eagleray.rollouts.agents.model import AgentRun, Observed

# Exceptions of httpx, http.client with urllib3, and aiohttp, by what they say about a server.
_UNREACHED = (
    *("ConnectError", "ConnectTimeout", "ConnectionRefusedError", "NewConnectionError"),
    *("ConnectTimeoutError", "ClientConnectorError", "ConnectionTimeoutError"),
)
_CUT = (
    *("ReadError", "WriteError", "CloseError", "RemoteProtocolError", "ConnectionResetError"),
    *("BrokenPipeError", "RemoteDisconnected", "IncompleteRead"),
    *("ServerDisconnectedError", "ClientOSError", "ClientPayloadError"),
)


def no_answer(observed: Observed) -> str:
    """A sentence with the number of such runs and the most frequent reason; "" without any."""
    reasons = Counter(reason for run in observed.runs if (reason := _unanswered(run)))
    if not reasons:
        return ""
    [(reason, _)] = reasons.most_common(1)
    return _sentence(sum(reasons.values()), reason)


def _sentence(runs: int, reason: str) -> str:
    name = reason.partition(":")[0]
    if name in _UNREACHED:
        return counted(
            runs,
            "{n} run failed because the server can't be reached.",
            "{n} runs failed because the server can't be reached.",
        )
    if name in _CUT:
        return counted(
            runs,
            "{n} run failed because the connection to the server was lost.",
            "{n} runs failed because the connection to the server was lost.",
        )
    return counted(
        runs,
        "{n} run got no answer from the server: {reason}.",
        "{n} runs got no answer from the server: {reason}.",
        reason=reason.rstrip("."),
    )


def _unanswered(run: AgentRun) -> str:
    """The error of the last request of a run that failed after it; a full pool is none of the server."""
    if run.outcome != "failed" or run.error is None or run.error.is_pool_timeout:
        return ""
    last = run.requests[-1] if run.requests else None
    if last is None or last.status:
        return ""
    return last.error.strip(": ")
