"""Names, titles and ranks of workers, out of what Ray says about their actor, tasks and job."""

from __future__ import annotations

import re
import shlex
import string
from collections.abc import Iterable

from eagleray.common.errors import printable
from eagleray.features.workers.rows import Facts
from eagleray.ray.rows import ActorRow, JobRow, TaskRow, WorkerRow

NAME_LIMIT = 80
# A cluster gives commands of any length; splitting one takes the square of it.
_LONGEST_COMMAND = 4096

_LETTERS_AND_DIGITS = string.ascii_letters + string.digits
_NUMBERED = re.compile(r"[A-Za-z]*?([0-9]{1,6})\Z")
_HEX_ID = re.compile(r"(?=.*[a-fA-F])(?=.*[0-9])[0-9a-fA-F]{6,}\Z")
_VERSION = re.compile(r"[vV][0-9]+\Z")


def rank_of_text(text: str) -> int | None:
    """RANK as an environment gives it; None when it is no rank."""
    stripped = text.strip()
    return int(stripped) if re.fullmatch(r"[0-9]{1,7}", stripped) else None


def rank_of_name(name: str) -> int | None:
    """The number that ends an actor's name: `policy_3`, `WorkerDict_0:3`, `worker3`; never part of an id or version."""
    last = name[len(name.rstrip(_LETTERS_AND_DIGITS)) :]
    if not last or _HEX_ID.match(last) or _VERSION.match(last):
        return None
    number = _NUMBERED.match(last)
    return int(number[1]) if number else None


def rank_of(facts: Facts, attached_rank: str) -> int | None:
    """The rank of a worker.

    1. RANK in its runtime_env.  2. The number that ends its actor's name.  3. RANK of its
    environment, known once the adapter attached.  4. None.
    """
    if facts.env_rank is not None:
        return facts.env_rank
    if facts.name_rank is not None:
        return facts.name_rank
    return rank_of_text(attached_rank)


def script_of(entrypoint: str) -> str:
    """The program of an entrypoint: `train.py`, `-m pkg.train`; "" when it shows none."""
    entrypoint = entrypoint[:_LONGEST_COMMAND]
    try:
        words = shlex.split(entrypoint)
    except ValueError:
        words = entrypoint.split()
    for word, following in zip(words, [*words, ""][1:], strict=True):
        if word == "-m" and following:
            return f"-m {following}"
        if word.endswith(".py"):
            return word.rsplit("/", 1)[-1]
    return ""


def describe_worker(
    row: WorkerRow | None, actor: ActorRow | None, tasks: Iterable[TaskRow], job: JobRow | None
) -> Facts:
    """The facts of one worker from its rows; anything may be missing."""
    if row is not None and row.kind == "driver":
        script = script_of(job.entrypoint) if job else ""
        title = clean(f"driver {script}".strip())
        return Facts(title, (title,), task_ids=_driver_tasks(job))
    ordered = sorted(tasks, key=lambda task: task.started_ms)
    titles = tuple(dict.fromkeys(clean(task.name or task.function) for task in ordered))
    name = _name_of(actor, titles, row)
    envs = [task.runtime_env.env for task in ordered] + ([actor.runtime_env.env] if actor else [])
    ranks = [rank_of_text(env["RANK"]) for env in envs if "RANK" in env]
    return Facts(
        name,
        titles or (clean(actor.class_name) if actor else name,),
        env_rank=next((rank for rank in ranks if rank is not None), None),
        name_rank=rank_of_name(actor.name) if actor else None,
        attempt=max((task.attempt for task in ordered), default=0),
        task_ids=frozenset(task.task_id for task in ordered),
        parent_ids=frozenset(task.parent_task_id for task in ordered if task.parent_task_id),
    )


def clean(text: str) -> str:
    """A name of the cluster on one line, without control characters, not longer than a row."""
    return printable(text, NAME_LIMIT).strip()


def _name_of(actor: ActorRow | None, titles: tuple[str, ...], row: WorkerRow | None) -> str:
    candidates = [actor.name, actor.repr_name, actor.class_name] if actor else []
    candidates += [title.rsplit(".", 1)[0] for title in titles if title.endswith(".__init__")]
    candidates += titles
    cleaned = (clean(candidate) for candidate in candidates)
    return next((name for name in cleaned if name), f"worker {row.pid}" if row else "worker")


def _driver_tasks(job: JobRow | None) -> frozenset[str]:
    # Ray gives the driver's own "task" an id of ones that ends in the job id.
    return frozenset({"f" * 40 + job.job_id}) if job and job.job_id else frozenset()
