"""What is said in a terminal of a run that is profiled: each worker once, and what has changed since."""

from __future__ import annotations

from eagleray.common.errors import printable
from eagleray.features.runs.model import ProfileState, WorkerProfile

_SAYS = {"recording": "records", "writing": "writes its report"}


class Progress:
    """Gives the new lines at each look."""

    def __init__(self) -> None:
        self._workers: dict[str, str] = {}
        self._files: set[str] = set()
        self._sentence = ""

    def lines(self, seen: ProfileState | None) -> list[str]:
        if seen is None:
            return []
        said = [line for worker in seen.workers for line in self._of_worker(worker)]
        # Their own names say class, host and process, of which a person knows the first.
        names = {report: worker.name for worker in seen.workers for report in worker.reports}
        for file in sorted(set(seen.files) - self._files):
            of = f" of {printable(names[file], 100)}" if names.get(file) else ""
            said.append(f"Gathered {printable(file, 400)}{of}")
        self._files.update(seen.files)
        if seen.sentence and seen.sentence != self._sentence:
            said.append(printable(seen.sentence, 600))
        self._sentence = seen.sentence
        return said

    def _of_worker(self, worker: WorkerProfile) -> list[str]:
        before = self._workers.get(worker.key)
        self._workers[worker.key] = worker.state
        where = f"{worker.name} (pid {worker.pid} on {worker.node})"
        said = []
        if before is None:
            said.append(worker.problem or worker.said or f"nsys is at {where}")
        if before != worker.state and worker.state in _SAYS:
            said.append(f"{where} {_SAYS[worker.state]}")
        return [printable(line, 400) for line in said]


def summary(seen: ProfileState | None) -> str:
    """What there is in the end."""
    if seen is None or not seen.workers:
        why = seen.sentence if seen is not None else ""
        why = why or "No class or name of a worker that was seen fits the patterns."
        return f"No worker was profiled. {printable(why, 600)}"
    missing = seen.expected - seen.gathered
    lost = f"; {missing} did not come" if missing > 0 else ""
    reports = "1 report" if seen.gathered == 1 else f"{seen.gathered} reports"
    warning = ". Who gets one also gets its node's environment, tokens included"
    return f"{reports} in {seen.folder}{lost}{warning if seen.gathered else ''}"
