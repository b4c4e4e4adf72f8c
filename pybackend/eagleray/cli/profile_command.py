"""`eagleray profile`: a program is started with nsys at its workers; recordings begin, end and are gathered."""

from __future__ import annotations

import argparse
import sys

from eagleray.app import App
from eagleray.cli import run_commands
from eagleray.cli.profile_progress import Progress, summary
from eagleray.common.errors import EaglerayError, printable
from eagleray.features.profiling.preview import SeenClass
from eagleray.features.runs.model import Profiled, ProfilePlan, When
from eagleray.features.runs.profile_plan import check_seconds, checked


async def profile(parts: App, asked: argparse.Namespace) -> int:
    if asked.record:
        if asked.seconds:
            check_seconds(asked.seconds)
        count = await parts.profiling.record(asked.record, [], asked.seconds)
        ends = f"it ends after {asked.seconds:g} s" if asked.seconds else "--stop ends it"
        _say(f"{_asked(count)} to record; {ends}.")
        return 0
    if asked.stop:
        count = await parts.profiling.stop(asked.stop, [])
        _say(f"{_asked(count)} to end the recording.")
        return 0
    if asked.gather:
        return await _gather(parts, asked.gather)
    plan = plan_of(asked)
    await _preview(parts, asked.cluster or "", plan.workers)
    return await run_commands.run(parts, asked, plan)


def plan_of(asked: argparse.Namespace) -> ProfilePlan:
    """What was asked for; raises `bad-profile`."""
    profile = ProfilePlan(
        workers=tuple(asked.workers),
        ranks=asked.ranks,
        steps=asked.steps or "",
        seconds=asked.seconds,
        trace=asked.trace,
        options=dict(asked.options),
        nsys=asked.nsys,
        output=asked.output,
        when=_when(asked),
    )
    return checked(profile)


def _when(asked: argparse.Namespace) -> When:
    if asked.steps is not None:
        return "steps"
    if asked.seconds:
        return "seconds"
    return "on-demand" if asked.on_demand else "always"


async def _gather(parts: App, run: str) -> int:
    progress = Progress()

    def tell(seen: Profiled) -> None:
        for line in progress.lines(seen):
            _say(line)

    seen = await parts.profiling.gather(run, tell)
    _say(summary(seen))
    return 0 if seen.gathered >= seen.expected else 1


async def _preview(parts: App, cluster: str, patterns: tuple[str, ...]) -> None:
    """Which classes of the cluster and of earlier runs fit; a program that is new need not have any."""
    cluster = "" if cluster.startswith("ssh://") else cluster
    try:
        seen = await parts.profiling.preview(cluster, patterns)
    except EaglerayError as error:
        _say(str(error))
        return
    if not cluster:
        # Other programs have other classes, which is nothing to be told of.
        seen = [one for one in seen if one.matched_by]
    for line in preview_lines(seen, patterns):
        _say(line)


def preview_lines(seen: list[SeenClass], patterns: tuple[str, ...]) -> list[str]:
    """The classes that fit, and how many do not."""
    fitting = [one for one in seen if one.matched_by]
    lines = [
        f"{printable(one.name, 100)} fits {printable(one.matched_by, 60)} "
        f"({f'{one.running} live now' if one.running else 'seen before'})"
        for one in fitting
    ]
    others = len(seen) - len(fitting)
    if seen and not fitting:
        lines.append(f"None of the {others} classes that were seen fits.")
        if any("." in one for one in patterns):
            # Its table of actors names classes alone.
            lines.append(
                "Of which module a class is Ray does not say, only an earlier profile; "
                "one that fits by it is recorded."
            )
    return lines


def _asked(workers: int) -> str:
    return "1 worker was asked" if workers == 1 else f"{workers} workers were asked"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
