"""Reads logs of workers: finds the files, returns their last lines, follows them, and cleans the text for display."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable

from attrs import frozen

from eagleray.common.l10n import t
from eagleray.common.redact import redact_text
from eagleray.common.worker_errors import no_log, no_such_worker
from eagleray.debug.workers.model import LiveWorker, LogEnd, Stream
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import JobRow, WorkerRow

_WORKER_ID = re.compile(r"[0-9a-fA-F]{8,64}")
_SUBMISSION = re.compile(r"[0-9A-Za-z_-]{1,128}")


@frozen
class LogFile:
    """A log file on a node of a cluster."""

    node_id: str
    filename: str


class Logs:
    """Reads logs through the dashboards, without a cache."""

    def __init__(self, dashboard_of: Callable[[str], Dashboard]) -> None:
        self._dashboard_of = dashboard_of

    async def tail(self, cluster: str, worker_id: str, stream: Stream, lines: int) -> LogEnd:
        """The last `lines` lines of a worker's log."""
        dashboard = self._dashboard_of(cluster)
        file = await find_log(dashboard, await self._worker(dashboard, worker_id), stream)
        # One line more than is shown, to know whether there is more.
        text = await dashboard.log_file(file.node_id, file.filename, lines + 1)
        shown, truncated = last_lines(clean_text(text), lines)
        return LogEnd(file.filename, shown, truncated)

    async def whole(
        self, cluster: str, worker: WorkerRow | LiveWorker, stream: Stream, lines: int = -1
    ) -> str:
        """As much of a worker's log as the dashboard returns, cleaned."""
        dashboard = self._dashboard_of(cluster)
        file = await find_log(dashboard, worker, stream)
        return clean_text(await dashboard.log_file(file.node_id, file.filename, lines))

    async def follow(
        self, cluster: str, worker_id: str, stream: Stream, lines: int = 1000
    ) -> AsyncGenerator[LogEnd, None]:
        """The last lines and then what is appended, until the caller closes the iterator or the log ends."""
        dashboard = self._dashboard_of(cluster)
        file = await find_log(dashboard, await self._worker(dashboard, worker_id), stream)
        feed = LineFeed()
        chunks = dashboard.log_stream(file.node_id, file.filename, lines)
        try:
            async for chunk in chunks:
                if text := feed.feed(chunk):
                    yield LogEnd(file.filename, text, False)
        finally:
            # Left to itself, the connection would stay open until the garbage is collected.
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()
        if text := feed.end():
            yield LogEnd(file.filename, text, False)

    async def _worker(self, dashboard: Dashboard, worker_id: str) -> WorkerRow:
        for row in await dashboard.all_workers():
            if row.worker_id == worker_id:
                return row
        raise no_such_worker(worker_id)


async def find_log(dashboard: Dashboard, worker: WorkerRow | LiveWorker, stream: Stream) -> LogFile:
    """The log file of a worker.

    1. A driver that was submitted as a job writes one log, for both streams, on its node.
    2. A driver that was started by hand writes to its terminal: `no_log`.
    3. A worker writes two files on its node, named after its id.
    """
    if worker.kind == "driver":
        job = _job_of(await dashboard.jobs(), worker)
        if job is None or not _SUBMISSION.fullmatch(job.submission_id):
            raise no_log(
                t("the driver (pid {pid}), which writes to its own terminal", pid=worker.pid)
            )
        return LogFile(job.driver_node_id or worker.node_id, f"job-driver-{job.submission_id}.log")
    # The id goes into a pattern of file names, so it must be nothing but an id.
    if _WORKER_ID.fullmatch(worker.worker_id):
        pattern = f"worker-{worker.worker_id}-*.{stream}"
        names = await dashboard.log_files(worker.node_id, pattern)
        own = [name for name in names if name.startswith(f"worker-{worker.worker_id}-")]
        if own:
            return LogFile(worker.node_id, sorted(own)[-1])
    raise no_log(f"worker {worker.worker_id[:8]} (pid {worker.pid})")


def _job_of(jobs: list[JobRow], worker: WorkerRow | LiveWorker) -> JobRow | None:
    """The job of a driver; a submission and the driver that it started may be two rows of one job."""
    same = [
        job
        for job in jobs
        if (job.driver_pid and (job.driver_ip, job.driver_pid) == (worker.node_ip, worker.pid))
        or (job.job_id and job.job_id == worker.worker_id[: len(job.job_id)])
    ]
    return next((job for job in same if job.submission_id), same[0] if same else None)


LINE_LIMIT = 10_000
TEXT_LIMIT = 8 * 2**20

# CSI, OSC and the other strings that end with ST or BEL, and two-byte escapes, in 7 and 8 bits.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f‎‏‪-‮⁦-⁩]")
# Ray's own marks for its log monitor, which hides them too (2.60, LOG_PREFIX_… in `ray_constants.py`).
_MARKS = re.compile(r"^:(?:job_id|actor_name|task_name|actor_repr|job_name):[^\n]*\n", re.MULTILINE)


def clean_text(text: str) -> str:
    """Whole lines of a log, as they may be shown."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    shown = _CONTROL.sub("", _ESCAPES.sub("", _MARKS.sub("", lines)))
    return redact_text("\n".join(_clip(line) for line in shown.split("\n")))


def last_lines(text: str, limit: int) -> tuple[str, bool]:
    """At most `limit` lines and `TEXT_LIMIT` characters from the end; whether anything was left off."""
    lines = text.split("\n")
    ended = lines[-1] == ""
    kept = lines[-(limit + ended) :] if limit > 0 else [""] * ended
    shown = "\n".join(kept)
    clipped = len(shown) > TEXT_LIMIT
    return shown[-TEXT_LIMIT:], clipped or len(kept) < len(lines)


class LineFeed:
    """Cuts a stream of text into whole lines, so that no escape and no secret is cut in two.

    A line that gets longer than the limit of a line is given out in pieces.
    """

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> str:
        """The clean lines that `text` completes."""
        whole, end, self._rest = (self._rest + text).rpartition("\n")
        if not end and len(self._rest) > LINE_LIMIT:
            whole, end, self._rest = self._rest, "\n", ""
        return clean_text(whole + end) if end else ""

    def end(self) -> str:
        """The last line, which nothing ended."""
        rest, self._rest = self._rest, ""
        return clean_text(rest)


def _clip(line: str) -> str:
    return line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + "…"
