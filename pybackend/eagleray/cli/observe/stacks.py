"""`eagleray stacks`: why a program is stuck, with the stacks of all its ranks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_html, add_json, add_pack, completed, seconds
from eagleray.cli.output import print_json, say
from eagleray.cli.runs.runs import suggesting_runs
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t
from eagleray.common.token_limit import cut_markdown
from eagleray.observe.hangs import picture_changes, picture_files, texts
from eagleray.observe.hangs.collecting import sampling_plan
from eagleray.observe.hangs.model import Picture, PictureTarget
from eagleray.observe.hangs.pasted.given_files import GivenFiles
from eagleray.observe.hangs.pasted.pasted import picture_of
from eagleray.page.exported_page import export_record, local_time

if TYPE_CHECKING:
    from eagleray.cli.command_line import CommandParser

_MOST_UNREAD = 10
_LONGEST_LINE = 400
# The confidence of a verdict that may be wrong as well as right.
_POSSIBLE = 0.5
# The exit code for a hang, with --exit-code.
HANGS = 3
# Verdicts on programs that make progress.
_GOES_ON = ("slow", "unknown")


def add_arguments(parser: CommandParser) -> None:
    run_id = parser.add_argument(
        "run",
        metavar="RUN",
        nargs="*",
        default=[],
        help=t("Sample this run, by the beginning of its ID, or these PIDs."),
    )
    completed(run_id, "runs")
    parser.is_intermixed = True
    add_cluster(parser, t("Sample all workers and drivers of this cluster."))
    parser.add_argument(
        "--job",
        metavar="JOB",
        default="",
        help=t("With --cluster, sample only this job of Ray."),
    )
    parser.add_argument(
        "--workers",
        metavar="PATTERN",
        default="",
        help=t("With --cluster, sample only workers of this class, function or actor."),
    )
    parser.add_argument(
        "--slurm",
        metavar="JOB",
        default="",
        help=t("Sample this SLURM job, by one step on all of its nodes.")
        + " "
        + t("Write {forms}.", forms="JOB or ssh://HOST/slurm://JOB"),
    )
    parser.add_argument(
        "--hosts",
        metavar="HOST",
        nargs="+",
        default=[],
        help=t("Sample your ranks on these hosts, as in `ssh HOST`."),
    )
    parser.add_argument(
        "--match",
        metavar="TEXT",
        default="",
        help=t("With --hosts, sample your processes with this text in their command."),
    )
    add_json(parser)
    parser.add_argument(
        "--pids",
        metavar="PID",
        nargs="+",
        default=[],
        help=t("Sample these processes, and all that belong to them."),
    )
    parser.add_argument(
        "--ras",
        metavar="HOST:PORT",
        default="",
        help=t("Ask NCCL's RAS at this address alone. NCCL before 2.29 may crash."),
    )
    opened = parser.add_argument(
        "--open", metavar="FILE", default="", help=t("Show a saved picture instead.")
    )
    given = parser.add_argument(
        "--from",
        dest="given",
        metavar="PATH",
        nargs="+",
        default=[],
        help=t("Judge stacks in files, folders, archives or logs; - reads standard input."),
    )
    compared = parser.add_argument(
        "--compare", metavar="FILE", default="", help=t("Show what has changed since this picture.")
    )
    for action in (opened, given, compared):
        completed(action, "files")
    parser.add_argument(
        "--save", metavar="FILE", default="", help=t("Save the picture in this file.")
    )
    parser.add_argument(
        "--inside",
        action="store_true",
        help=t("Read exceptions, awaited tasks and collectives, by a thread in some processes."),
    )
    parser.add_argument(
        "--native",
        action="store_true",
        help=t("Read native frames of one process of each class."),
    )
    parser.add_argument("--markdown", action="store_true", help=t("Print Markdown."))
    add_html(parser)
    add_pack(parser)
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=seconds,
        default=sampling_plan.PAUSE_S,
        help=t("Wait S seconds between samples. The default is {n}.", n=sampling_plan.PAUSE_S),
    )
    parser.add_argument(
        "--exit-code",
        action="store_true",
        help=t("Exit with {code} if the program hangs.", code=HANGS),
    )


def check(arguments: argparse.Namespace) -> str:
    targets = (
        arguments.run,
        arguments.cluster,
        arguments.slurm,
        arguments.hosts,
        arguments.pids,
        arguments.ras,
        arguments.open,
        arguments.given,
    )
    if not any(targets):
        return t("Which program? Pass a run ID, a PID, --cluster, --slurm or --hosts.")
    if sum(map(bool, targets)) != 1:
        return t("Use one of RUN, --pids, --cluster, --slurm, --hosts, --ras, --from, --open.")
    if not all(map(str.isdecimal, _parts(arguments.pids))):
        return t("PIDs are numbers, for example --pids 4711,4712.")
    if len(_parts(arguments.run)) > 1 and not all(map(str.isdecimal, _parts(arguments.run))):
        return t("Specify one run, or PIDs.")
    if arguments.job and not arguments.cluster:
        return t("--job needs --cluster.")
    if arguments.workers and not arguments.cluster:
        return t("--workers needs --cluster.")
    if arguments.match and not arguments.hosts:
        return t("--match needs --hosts.")
    if sum(map(bool, (arguments.json or arguments.format, arguments.markdown, arguments.pack))) > 1:
        return t("Use only one of --markdown, --pack and --json.")
    return ""


def _parts(written: Sequence[str]) -> list[str]:
    """The values of an option that takes several, separated by spaces or commas."""
    return [part for text in written for part in text.split(",") if part]


def _run_and_pids(app: App, arguments: argparse.Namespace) -> tuple[str, list[int]]:
    """The run, "" for none, and the PIDs: a lone number is a PID unless the id of a run begins with it."""
    pids, parts = _parts(arguments.pids), _parts(arguments.run)
    is_run = len(parts) == 1 and not (
        parts[0].isdecimal()
        and not any(item.record.id.startswith(parts[0]) for item in app.runs.listed())
    )
    return (parts[0], []) if is_run else ("", [int(pid) for pid in (*pids, *parts)])


async def run(app: App, arguments: argparse.Namespace) -> int:
    try:
        return await _run(app, arguments)
    finally:
        # After the output: Ray takes some seconds to forget a job.
        sys.stdout.flush()
        await app.pictures.close()


async def _run(app: App, arguments: argparse.Namespace) -> int:
    file = Path(arguments.save) if arguments.save else None
    if file is not None:
        picture_files.check_folder(file)
    earlier = picture_files.load(Path(arguments.compare)) if arguments.compare else None
    taken = await _picture(app, arguments)
    try:
        if file is not None:
            picture_files.save(taken, file)
        if arguments.html:
            _export(taken, arguments.html)
    finally:
        # Also a picture that can't be saved is worth its time.
        _print(taken, earlier, arguments)
    if not taken.coverage.processes and not (arguments.given or arguments.ras):
        return 1
    verdict = taken.verdict
    is_hang = verdict.kind not in _GOES_ON and verdict.confidence > _POSSIBLE
    return HANGS if arguments.exit_code and is_hang else 0


def _print(taken: Picture, earlier: Picture | None, arguments: argparse.Namespace) -> None:
    moves = [] if earlier is None else picture_changes.moves(earlier, taken)
    if arguments.json or arguments.format:
        print_json({**picture_files.as_json(taken), "changes": picture_files.changes_json(moves)})
    elif earlier is not None:
        for line in texts.comparison(moves):
            print(printable(line))
    elif arguments.pack:
        print(cut_markdown(texts.markdown(taken), arguments.tokens), end="")
    elif arguments.markdown:
        print(texts.markdown(taken), end="")
    else:
        print("\n".join(printable(line, _LONGEST_LINE) for line in texts.lines(taken)))


def _export(taken: Picture, file: str) -> None:
    title = t("Stuck? {target}", target=taken.target)
    facts = ("canSampleAgain", "canReadInside", "canInspect")
    message = {
        **dict.fromkeys(facts, False),
        "kind": "picture",
        "picture": taken,
        "from": " · ".join(filter(None, (taken.target, local_time(taken.taken_at)))),
    }
    export_record(file, "picture_page", title, message)


async def _picture(app: App, arguments: argparse.Namespace) -> Picture:
    def on_progress(done: int, all_rounds: int) -> None:
        say(t("Sample {done} of {all} taken", done=done, all=all_rounds))

    if arguments.open:
        return picture_files.load(Path(arguments.open))
    if arguments.given:
        sources = GivenFiles(arguments.given, sys.stdin.buffer)
        try:
            taken = await off_loop(partial(picture_of, sources))
        finally:
            sources.cancel()
        for name, why in sources.unread[:_MOST_UNREAD]:
            say(printable(t("Not read: {file} ({reason})", file=name, reason=why), 400))
        if (more := len(sources.unread) - _MOST_UNREAD) > 0:
            say(counted(more, "{n} more file was not read.", "{n} more files were not read."))
        return taken
    run_id, pids = _run_and_pids(app, arguments)
    target = PictureTarget(
        cluster=arguments.cluster or "",
        job_id=arguments.job,
        workers=arguments.workers,
        run_id=run_id,
        pids=tuple(pids),
        slurm_job=arguments.slurm,
        hosts=tuple(_parts(arguments.hosts)),
        matching=arguments.match,
        inside=arguments.inside,
        native=arguments.native,
        ras=arguments.ras,
    )
    with suggesting_runs(app, run_id):
        return await app.pictures.take(target, on_progress, say, arguments.seconds)
