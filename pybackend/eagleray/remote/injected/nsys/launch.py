"""Starts a worker that nsys is to record again under nsys, before its own first line.

1. A worker that isn't selected, or has no selected rank, continues as it is.
2. So does one on a node without nsys, which is reported with the name of the node.
3. A worker that its framework has put under nsys stays there; a watcher copies the framework's reports.
4. For all others a watcher is started, and nsys starts the same command; this process only waits for it.
5. If nsys refuses or doesn't answer, this process continues as the worker and reports why.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

from .. import jsonlines, step_signals
from ..guard import write_line
from ..outside_files import content_of
from ..worker_patterns import rank_of
from . import arguments, framework_nsys, installations, node_reports
from .private_folders import held, private_folder
from .profile_requests import BY_FRAMEWORK, read_profile_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..profile_settings import ProfileSettings
    from ..settings import RunSettings

SOCKET = "EAGLERAY_NSYS_SOCKET"
# The limits until the worker begins under nsys, and until its recording begins.
BEGIN_S = 45.0
GO_S = 90.0
# If several begin at once on a node, nsys ends every tenth with an error of its own (`sem_open`, 2022.4).  The next
# attempt or the one after succeeds: the pids spread them.
ATTEMPTS = 4
APART_S = 0.05
_LONGEST_LINE = 2**16
_LONGEST_PORT = 16

# For the debug proxy of this process: {"nsys": the watcher's socket} or {"profile": why there is none}.
for_proxy: dict[str, Any] = {}


def begin(settings: RunSettings) -> None:
    """Returns in the process that continues as the worker."""
    watcher = os.environ.pop(SOCKET, "")
    if watcher:
        for_proxy["nsys"] = watcher
        if not _may_begin(watcher):
            # The process that has started nsys has given up and is the worker itself.
            os._exit(1)
        return
    request = read_profile_request(os.environ)
    if request is None or settings.profile is None:
        return
    worker = worker_facts(settings, request, worker_argv())
    if not settings.profile.selects_rank(int(worker["rank"]) if worker["rank"] else None):
        return
    framework = (
        framework_nsys.framework_nsys(os.environ) if framework_nsys.INSIDE in os.environ else None
    )
    try:
        if framework is not None:
            _watch_framework(settings, settings.profile, worker, framework)
        elif request["pattern"] != BY_FRAMEWORK:
            _begin_under_nsys(settings, settings.profile, worker)
    except OSError as error:
        _continue_without(settings, worker, f"nsys cannot be used: {error}")


def worker_facts(settings: RunSettings, request: dict[str, str], argv: list[str]) -> dict[str, Any]:
    """The facts about a worker before it has connected to Ray."""
    rank = rank_of(os.environ, request["name"])
    host, worker_id = socket.gethostname(), option(argv, "worker-id")
    return {
        "run": settings.run,
        "worker_id": worker_id,
        # Containers of one node may share its name and the folder of reports, and have pids of their own.
        "mark": worker_id[:8] or os.urandom(4).hex(),
        "actor_id": "",
        "pid": os.getpid(),
        "host": host,
        "node": host,
        "node_id": option(argv, "node-id"),
        "node_ip": option(argv, "node-ip-address"),
        "module": request["module"],
        "class": request["class"],
        "name": request["name"],
        "rank": "" if rank is None else str(rank),
        "gpus": [],
        "pattern": request["pattern"],
        "agent_port": agent_port(session_dir(argv), option(argv, "node-id")),
    }


def _begin_under_nsys(
    settings: RunSettings, profile: ProfileSettings, worker: dict[str, Any]
) -> None:
    nsys = installations.find_nsys(profile.nsys, os.environ, preferred=profile.preferred_nsys)
    where = f" at {profile.nsys}" if profile.nsys else ""
    if not nsys:
        _continue_without(settings, worker, f"{installations.NO_NSYS}{where}")
        return
    message = f"Nsight profiling enabled for worker '{_name(worker)}' (matched pattern '{worker['pattern']}')"
    write_line(message)
    why = ""
    for attempt in range(ATTEMPTS):
        time.sleep(attempt * APART_S * (1 + os.getpid() % 8))
        why, has_ended = _attempt(settings, profile, {**worker, "nsys": nsys}, message)
        if not has_ended:
            break
    _continue_without(settings, worker, why)


def _attempt(
    settings: RunSettings, profile: ProfileSettings, worker: dict[str, Any], message: str
) -> tuple[str, bool]:
    """One attempt, with a watcher and a session of its own; returns what `_run_under` returns."""
    private = private_folder()
    session = f"eagleray-{os.path.basename(private).rpartition('-')[2].replace('_', 'x')}"
    options = arguments.to_launch(profile, session)
    start = _watcher_start(settings, {**worker, "options": options}, session, message)
    return _run_under([worker["nsys"], *options], _start_watcher(private, start))


def _watch_framework(
    settings: RunSettings,
    profile: ProfileSettings,
    worker: dict[str, Any],
    framework: dict[str, Any],
) -> None:
    """Starts a watcher for the nsys of the framework, which stays as it is."""
    message = f"Nsight profiling of worker '{_name(worker)}' is that of its framework"
    facts = {**worker, "nsys": framework["program"], "options": []}
    start = _watcher_start(settings, facts, framework["session"], message)
    for_proxy["nsys"] = _start_watcher(private_folder(), {**start, "framework": framework})
    write_line(message)
    _may_begin(for_proxy["nsys"])


def _watcher_start(
    settings: RunSettings, worker: dict[str, Any], session: str, message: str
) -> dict[str, Any]:
    """The content of `begin.json`, with which a watcher starts."""
    return {
        "worker": worker,
        "reports": _reports_folder(settings),
        "profile": settings.values["profile"],
        "nsys": worker["nsys"],
        "session": session,
        "said": message,
    }


def _continue_without(settings: RunSettings, worker: dict[str, Any], why: str) -> None:
    """Continues as the worker, and reports why in its log, to its debug proxy and beside the reports of others."""
    problem = f"Node {worker['host']}: {why}; worker '{_name(worker)}' runs without nsys."
    write_line(problem)
    status = {"state": "missing", "said": problem, "problem": problem, "reports": []}
    for_proxy["profile"] = status
    with contextlib.suppress(OSError):
        path = os.path.join(_reports_folder(settings), f"{node_reports.stem(worker)}.worker.json")
        node_reports.write_json(path, {**worker, **status})


def _reports_folder(settings: RunSettings) -> str:
    """Raises OSError."""
    shared = settings.profile.reports if settings.profile is not None else ""
    return node_reports.folder_for(shared, session_dir(worker_argv()), settings.run)


def _name(worker: dict[str, Any]) -> str:
    return str(worker["name"] or worker["class"])


def _run_under(nsys: list[str], address: str) -> tuple[str, bool]:
    """Doesn't return if the worker begins under nsys; else returns why it didn't, and whether nsys has ended itself."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as watcher:
        watcher.connect(address)
        try:
            front = subprocess.Popen([*nsys, *own_command()], env={**os.environ, SOCKET: address})
        except OSError as error:
            return f"nsys cannot be started: {error.strerror}", False
        worker = _started(watcher, front)
        if worker:
            # A signal to this process is meant for the worker, which gets those to all processes of a job step as well.
            step_signals.ignore()
            signal.signal(signal.SIGTERM, lambda *_: _pass_on(worker, signal.SIGTERM))
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            code = front.wait()
            os._exit(code if code >= 0 else 128 - code)
    # Without this connection the watcher starts no worker under nsys, so that there is only one worker.
    if front.poll() is None:
        front.kill()
        front.wait()
        return f"nsys did not start the worker within {BEGIN_S:g} s", False
    return f"nsys ended with {front.returncode} and says why in the worker's log", True


def _started(watcher: socket.socket, front: subprocess.Popen[bytes]) -> int:
    """Returns the pid of the worker once it runs under nsys, 0 if it doesn't start."""
    limit = time.monotonic() + BEGIN_S
    messages = jsonlines.MessageBuffer(_LONGEST_LINE)
    try:
        jsonlines.send(watcher, {"op": "front", "pid": front.pid})
        watcher.settimeout(0.1)
        while time.monotonic() < limit and front.poll() is None:
            try:
                data = watcher.recv(2**16)
            except socket.timeout:  # noqa: UP041 (Python 3.9 has two classes)
                continue
            if not data:
                break
            for message in messages.feed(data):
                if message.get("event") == "started":
                    jsonlines.send(watcher, {"op": "waits"})
                    return int(message["pid"])
    except OSError:
        pass
    return 0


def _start_watcher(folder: str, start: dict[str, Any]) -> str:
    """Starts a watcher with its private folder; returns the address of its socket, which exists already."""
    from ..helper_process import spawn

    with open(os.path.join(folder, "begin.json"), "w", encoding="utf-8") as stream:
        json.dump(start, stream)
    address = os.path.join(folder, "socket")
    with held(folder) as lock, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(16)
        descriptors = [listener.fileno(), lock]
        # The framework's nsys would record the watcher, too (by LD_PRELOAD, User Guide of 2022.4), and show it
        # among the worker's own calls.
        environ = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        spawn("nsys.watcher_process", [folder, str(listener.fileno())], descriptors, environ)
    return address


def _may_begin(address: str) -> bool:
    """Waits until a recording from the worker's start is on; returns False if this process must not become the worker."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as watcher:
            watcher.settimeout(GO_S)
            watcher.connect(address)
            jsonlines.send(watcher, {"op": "worker", "pid": os.getpid()})
            with watcher.makefile("rb") as stream:
                return bool(stream.readline())
    except OSError:
        return False


def _pass_on(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


# --- the command of this worker --------------------------------------------------------------------


def own_command() -> list[str]:
    """The command with which this process was started, with the same interpreter."""
    return [sys.executable, *worker_argv()[1:]]


def worker_argv() -> list[str]:
    argv = getattr(sys, "orig_argv", None)
    if argv is None:
        from .node_processes import command_of

        # Python 3.9 has no `sys.orig_argv`.
        argv = command_of(os.getpid())
    return list(argv)


def option(argv: list[str], name: str) -> str:
    """The value of an option that Ray gives its workers; "" if it is missing."""
    start = f"--{name}="
    return next((argument[len(start) :] for argument in argv if argument.startswith(start)), "")


def session_dir(argv: list[str]) -> str:
    return os.path.join(option(argv, "temp-dir"), option(argv, "session-name"))


def agent_port(folder: str, node: str) -> int:
    """The port at which Ray's agent of this node serves the logs; 0 if it hasn't written it down."""
    path = os.path.join(folder, f"dashboard_agent_listen_port_{node}")
    with contextlib.suppress(OSError, ValueError):
        return int(content_of(path, _LONGEST_PORT))
    return 0
