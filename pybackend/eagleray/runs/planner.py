"""Prepares a run: makes a plan of the user's request, and finds problems before its start."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from attrs import evolve, frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.remote.injected.outside_files import whole
from eagleray.remote.injected.worker_patterns import split_patterns
from eagleray.runs import program_kind
from eagleray.runs.errors import (
    bad_profile,
    bad_watch,
    missing_folder,
    narrow_export,
    no_ray,
    not_python,
    other_python,
    plan_expired,
)
from eagleray.runs.model import (
    MOST_WATCH_MINUTES,
    Kind,
    ProfilePlan,
    RunOptions,
    RunPlan,
    RunRequest,
    with_server_env,
)
from eagleray.runs.program_python import (
    RayCheck,
    environment_of,
    files_on_path,
    imports_ray,
    target_of,
)
from eagleray.runs.sbatch_arguments import narrow_command
from eagleray.runs.scripts.script_edits import with_own_place
from eagleray.wire.records import fields_in

# An editor prepares one for each change in its form.
MAX_PLANS = 64
_ELSEWHERE: tuple[Kind, ...] = ("job", "sbatch", "remote")
# A larger script is not copied.
_SCRIPT = 2**20


# The minor versions of Python ("3.11") of an interpreter here, and of a cluster; "" where it is not known.
PythonOf = Callable[[str], Awaitable[str]]


class PreparedPlans:
    """The last plans that were prepared, by id: the editor shows them and starts one by its id."""

    def __init__(self) -> None:
        self._plans: dict[str, RunPlan] = {}

    def add(self, plan: RunPlan) -> str:
        """Returns the id of the plan; the oldest plan is removed when there are too many."""
        plan_id = secrets.token_hex(8)
        self._plans[plan_id] = plan
        if len(self._plans) > MAX_PLANS:
            del self._plans[next(iter(self._plans))]
        return plan_id

    def get(self, plan_id: str) -> RunPlan:
        """Raises `plan-expired`."""
        if plan_id not in self._plans:
            raise plan_expired()
        return self._plans[plan_id]


class RunPreparation:
    """Makes plans; asks the machine and the cluster, starts nothing of the user's.

    `plans` holds the plans that the editor may start.  `further_checks` read files and return problems of a plan.
    `joined_python` returns the interpreter of the local cluster that `ray.init()` joins in an environment, "" for none.
    """

    def __init__(
        self,
        id_of: Callable[[str], Awaitable[str]],
        here: PythonOf,
        there: PythonOf,
        further_checks: Sequence[Callable[[RunPlan], list[EaglerayError]]] = (),
        joined_python: Callable[[Mapping[str, str]], str] = lambda environ: "",
    ) -> None:
        self._id_of = id_of
        self._here = here
        self._there = there
        self._further_checks = further_checks
        self._joined_python = joined_python
        self._ray = RayCheck()
        self.plans = PreparedPlans()

    async def plan(self, request: RunRequest) -> RunPlan:
        """The plan without any preset.

        With a cluster it is a job there, unless the user gave a kind; a script for SLURM may name a host by it.
        """
        start = await off_loop(partial(_start_of, request))
        kind = start.kind
        job = kind == "job" or (request.cluster and not request.kind and kind != "sbatch")
        valid = {
            "cwd": start.cwd,
            "cluster": await self._cluster(request.cluster, kind),
            "workers": tuple(split_patterns(request.workers)),
            "preset": "",
            "profile": None if request.profile is None else validate_profile(request.profile),
            "watch_minutes": valid_watch(request.watch_minutes),
        }
        plan = RunPlan(
            **{**fields_in(request, RunOptions), **valid},
            kind="job" if job else kind,
            argv=start.argv,
            name=program_kind.name_of(start.command_kind, start.argv),
        )
        if request.server_env is not None and not plan.cluster and plan.kind not in _ELSEWHERE:
            plan = with_server_env(plan, request.server_env)
        script = program_kind.script_at(start.command_kind, start.argv)
        return await off_loop(partial(_with_plain_line_ends, plan, script))

    async def problems(self, plan: RunPlan) -> list[EaglerayError]:
        """The problems that the user would meet after the start."""
        problems = [not_python(path) for path in await off_loop(partial(_missing, plan))]
        if unfit := await self.unfit_python(plan):
            problems.append(unfit)
        if command := await off_loop(partial(_narrow_command, plan)):
            problems.append(narrow_export(command))
        for further in self._further_checks:
            problems += await off_loop(partial(further, plan))
        return problems

    async def unfit_python(self, plan: RunPlan) -> EaglerayError | None:
        """Why the Python of a program of this machine can't run it; the user may start it all the same.

        1. It has no Ray, and the program imports Ray.  A program without that import has no version to compare either.
        2. Its cluster, or the local one that it joins, runs another minor version, which Ray refuses.
        """
        if without_ray := await self._ray.missing(plan):
            needs_ray = await off_loop(partial(imports_ray, plan))
            return no_ray(_shown(without_ray.path), without_ray.version) if needs_ray else None
        if plan.kind not in ("program", "module") or target_of(plan) is None:
            return None
        here, there = await self._versions(plan)
        return other_python(here, there) if here and there and here != there else None

    async def _versions(self, plan: RunPlan) -> tuple[str, str]:
        """Returns the versions of the program and of its cluster; "" where one is not known."""
        if plan.cluster:
            return await self._here(plan.argv[0]), await self._there(plan.cluster)
        environ = environment_of(plan)
        cluster = await off_loop(partial(self._joined_python, environ))
        files = files_on_path(plan.argv[0], plan.cwd, environ.get("PATH"))
        if not cluster or not files or str(files[0]) == cluster:
            return "", ""
        return await self._here(str(files[0])), await self._here(cluster)

    async def _cluster(self, written: str, kind: Kind) -> str:
        """For a script for SLURM it is the login node, as `ssh://HOST`, and for a remote program its place."""
        if not written or kind in ("sbatch", "remote"):
            return written
        return await self._id_of(written)


@frozen
class StartCommand:
    """The command of a run; `command_kind` is the kind of its arguments, also for a job."""

    kind: Kind
    command_kind: Kind
    argv: tuple[str, ...]
    cwd: str


def _start_of(request: RunRequest) -> StartCommand:
    """Reads files; raises what keeps it from being a command."""
    cwd = _folder(request.cwd)
    kind = request.kind or program_kind.kind_of(request.path, request.args, request.cwd)
    has_other_kind = kind in ("job", "remote")
    command_kind = (
        program_kind.kind_of(request.path, request.args, request.cwd) if has_other_kind else kind
    )
    python = request.python if not request.cluster or request.kind not in ("", "job") else "python"
    argv = program_kind.command_of(command_kind, request.path, request.args, python, request.cwd)
    return StartCommand(kind, command_kind, argv, cwd)


def _folder(written: str) -> str:
    folder = Path(written).expanduser()
    if not folder.is_dir():
        raise missing_folder(written)
    return str(folder.absolute())


def _shown(path: str) -> str:
    home = f"{Path.home()}/"
    return f"~/{path.removeprefix(home)}" if path.startswith(home) else path


def _missing(plan: RunPlan) -> list[str]:
    """Files with breakpoints that are not here."""
    return [
        breakpoint_.path for breakpoint_ in plan.breakpoints if not Path(breakpoint_.path).is_file()
    ]


def _narrow_command(plan: RunPlan) -> str:
    script = program_kind.script_at("script" if plan.kind == "job" else plan.kind, plan.argv)
    return narrow_command(script, plan.copy_text, Path(plan.cwd))


def _with_plain_line_ends(plan: RunPlan, script: str) -> RunPlan:
    """No shell runs a script with the line ends of Windows; a copy without them can be run in its place."""
    file = Path(plan.cwd) / script
    try:
        content = whole(file, _SCRIPT) if script else b""
        if b"\r\n" not in content:
            return plan
        text = content.decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError):
        return plan
    return evolve(plan, copy_of=script, copy_text=with_own_place(text))


def valid_watch(minutes: float) -> float:
    """The minutes; raises `bad-watch` unless a picture may be taken after so many."""
    if not 0 <= minutes <= MOST_WATCH_MINUTES:
        raise bad_watch(minutes, MOST_WATCH_MINUTES)
    return minutes


_STEP = re.compile(r"\d{1,9}")
_STEPS = re.compile(r"\d{1,9}:\d{1,9}")
_TRACE = re.compile(r"[a-z0-9-]+(,[a-z0-9-]+)*")
_OPTION = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
# Options that Eagleray sets: where a report goes, and that nsys never ends the program.
_RESERVED_OPTIONS = frozenset({"o", "output", "f", "force-overwrite", "session", "session-new"})
_LONGEST_S = 24 * 3600.0


def validate_profile(profile: ProfilePlan) -> ProfilePlan:
    """The profile with split patterns and an absolute output folder; raises `bad-profile`."""
    workers = tuple(split_patterns(profile.workers))
    if not workers:
        raise bad_profile(t("no workers"), t("Name workers, such as `*policy*`. `*` is all."))
    steps = _parse_steps(profile.steps) if profile.when == "steps" else profile.steps
    if profile.when == "seconds":
        check_seconds(profile.seconds)
    if not _TRACE.fullmatch(profile.trace):
        raise bad_profile(
            t("{trace} is not a list of traces", trace=repr(profile.trace)),
            t("Use a list such as `cuda,nvtx,osrt`."),
        )
    for name, value in profile.options.items():
        if name in _RESERVED_OPTIONS or not _OPTION.fullmatch(name) or "\0" in value:
            raise bad_profile(
                t("Eagleray doesn't pass {option} to nsys", option=repr(name)),
                t("Remove this option."),
            )
    output = str(Path(profile.output).expanduser().absolute()) if profile.output else ""
    return evolve(profile, workers=workers, steps=steps, output=output)


def check_seconds(seconds: float) -> None:
    """Raises `bad-profile` unless this is a valid length of a recording."""
    if not 0 < seconds <= _LONGEST_S:
        raise bad_profile(
            t("a recording can't take {seconds} s", seconds=f"{seconds:g}"),
            t("Use more than 0 s, and at most a day."),
        )


def _parse_steps(steps: str) -> str:
    """The range as FIRST:END, also for a single step; "" stays "".  Raises `bad-profile`."""
    if _STEP.fullmatch(steps):
        return f"{steps}:{int(steps) + 1}"
    first, _, end = steps.partition(":")
    if steps and not (_STEPS.fullmatch(steps) and int(first) < int(end)):
        raise bad_profile(
            t("{steps} is not a range of steps", steps=repr(steps)),
            t("Use FIRST:END, such as `3:5` for steps 3 and 4."),
        )
    return steps
