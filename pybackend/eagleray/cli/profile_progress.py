"""What is said in a terminal of a run that is profiled: each worker once, and what has changed since."""

from __future__ import annotations

from eagleray.common.errors import printable
from eagleray.features.runs.model import ProfileState, WorkerProfile

_ACTIVITIES = {"recording": "records", "writing": "writes its report"}


class Progress:
    """Gives the new lines at each look."""

    def __init__(self) -> None:
        self._workers: dict[str, str] = {}
        self._files: set[str] = set()
        self._sentence = ""

    def lines(self, state: ProfileState | None) -> list[str]:
        if state is None:
            return []
        lines = [line for worker in state.workers for line in self._of_worker(worker)]
        # Their own names say class, host and process, of which a person knows the first.
        names = {report: worker.name for worker in state.workers for report in worker.reports}
        for file in sorted(set(state.files) - self._files):
            of = f" of {printable(names[file], 100)}" if names.get(file) else ""
            lines.append(f"Gathered {printable(file, 400)}{of}")
        self._files.update(state.files)
        if state.sentence and state.sentence != self._sentence:
            lines.append(printable(state.sentence, 600))
        self._sentence = state.sentence
        return lines

    def _of_worker(self, worker: WorkerProfile) -> list[str]:
        before = self._workers.get(worker.key)
        self._workers[worker.key] = worker.state
        where = f"{worker.name} (pid {worker.pid} on {worker.node})"
        lines = []
        if before is None:
            lines.append(worker.problem or worker.said or f"nsys is at {where}")
        if before != worker.state and worker.state in _ACTIVITIES:
            lines.append(f"{where} {_ACTIVITIES[worker.state]}")
        return [printable(line, 400) for line in lines]


def summary(state: ProfileState | None) -> str:
    """What there is in the end."""
    if state is None or not state.workers:
        why = state.sentence if state is not None else ""
        why = why or "No class or name of a worker that was seen fits the patterns."
        return f"No worker was profiled. {printable(why, 600)}"
    missing = state.expected - state.gathered
    lost = f"; {missing} did not come" if missing > 0 else ""
    reports = "1 report" if state.gathered == 1 else f"{state.gathered} reports"
    warning = ". Who gets one also gets its node's environment, tokens included"
    return f"{reports} in {state.folder}{lost}{warning if state.gathered else ''}"
