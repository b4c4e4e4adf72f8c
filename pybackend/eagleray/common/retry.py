"""The clock, and how long to wait before the next attempt or poll."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

# The longest pause with jitter is longer by this share.
_JITTER = 0.25


class Clock:
    """The machine's monotonic clock, in seconds; tests of time limits pass one that they set."""

    def now(self) -> float:
        return time.monotonic()


@dataclass(frozen=True)
class Backoff:
    """Waits that double from `first_s` up to `longest_s`."""

    first_s: float
    longest_s: float

    def wait_s(self, failures: int) -> float:
        """The wait after that many failures in a row, from 1 on."""
        return min(self.longest_s, self.first_s * 2.0 ** min(max(failures, 1) - 1, 30))

    def jittered_s(self, failures: int) -> float:
        """The same with jitter, for callers that would otherwise retry at the same moment."""
        return jittered(self.wait_s(failures))


def jittered(seconds: float) -> float:
    """Only longer: a budget of polls or attempts is never exceeded."""
    return seconds * random.uniform(1.0, 1.0 + _JITTER)  # noqa: S311 (nothing depends on it being secret)


@dataclass(frozen=True)
class PollSchedule:
    """`steps` are pairs (until this age, this interval), in seconds; beyond the last one it is `steady_s`.

    The age counts from the user's last action, or from the last change.
    """

    steps: tuple[tuple[float, float], ...]
    steady_s: float

    def interval_s(self, age_s: float) -> float:
        """The time from one poll to the next at that age."""
        return next((every for until, every in self.steps if age_s < until), self.steady_s)

    def delay_s(self, age_s: float) -> float:
        """The interval with jitter, so that windows that were opened together drift apart."""
        return jittered(self.interval_s(age_s))


# The state of SLURM jobs.  Sites ban loops of `squeue` below 30 to 60 s (for the reason see PERFORMANCE in man squeue).
JOB_STATE = PollSchedule(((60.0, 3.0), (120.0, 10.0), (600.0, 30.0)), 60.0)
# Whether a Ray dashboard answers on the nodes of a job; the age is the running job's.
RAY_IN_JOB = PollSchedule(((60.0, 5.0), (600.0, 15.0), (3600.0, 60.0)), 600.0)
# The worker table of a run's cluster, since the last worker came or went.  A new worker that may stop waits for it.
WORKER_TABLE = PollSchedule(((30.0, 0.25), (120.0, 1.0), (600.0, 2.0)), 5.0)
# The same for a run in which no worker stops.
UNSTOPPED_WORKERS = PollSchedule(((30.0, 0.25), (120.0, 1.0), (600.0, 10.0)), 30.0)
# Pictures of a watched SLURM job that prints nothing, though its ranks move, since its last output.  Each is a job step.
WATCHED_JOB = PollSchedule(((3600.0, 300.0),), 3600.0)
# The workers of a cluster that are counted for the panel.
WORKER_COUNT = PollSchedule(((60.0, 5.0), (600.0, 15.0)), 30.0)
# The folders of runs, for changes that inotify doesn't report: those by another machine with the same home.
RUN_FOLDERS = PollSchedule(((60.0, 2.0), (600.0, 10.0)), 60.0)
# The reports on a node that Ray has left, since it was first missed.  Each poll is a command over ssh or a job step.
DEPARTED_NODE = PollSchedule(((60.0, 20.0), (600.0, 120.0)), 600.0)
# A program on an ssh host or in a step of a SLURM job, since its start.  Each poll is a command there.
REMOTE_PROGRAM = PollSchedule(((60.0, 1.0), (600.0, 5.0)), 15.0)
# An inference server since its start.  It may take 10 minutes, and is ready at most 0.2 s after its first token.
SERVER_START = PollSchedule(((10.0, 0.05), (60.0, 0.1)), 0.15)
# One that runs in a job: each poll is a connection through a route.
SERVER_IN_JOB = PollSchedule(((60.0, 0.5), (600.0, 2.0)), 5.0)
# The `/health` of one that is ready, which engines note in their logs.
SERVER_HEALTH = PollSchedule(((60.0, 5.0),), 15.0)
# A growing file, where inotify doesn't report that it grows.
GROWING_FILE = PollSchedule(((2.0, 0.1), (10.0, 0.5)), 2.0)
# The queue of an inference server in the course of a wave, since its start.
SERVER_QUEUE = PollSchedule(((10.0, 1.0), (120.0, 2.0)), 5.0)
