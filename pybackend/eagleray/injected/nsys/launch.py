"""A worker that nsys is to record starts again under nsys, before its own first line; without nsys it goes on as it is.

1. Who is not meant, or has no rank that is meant, goes on.  2. So does who has no nsys, which is said with the node.
3. A watcher is started.  4. The same command is started by nsys; this process waits for it and is nothing else.
5. If nsys refuses or is silent, this process goes on as the worker, as if nothing had been.
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

from .. import jsonlines
from ..worker_patterns import rank_of
from . import arguments, installations, node_reports
from . import framework_nsys as nsys_around
from .private_folders import held, private_folder
from .profile_settings import BY_FRAMEWORK, read_profile_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..settings import RunSettings
    from .profile_settings import ProfileSettings

SOCKET = "EAGLERAY_NSYS_SOCKET"
# So long nsys may take until the worker begins under it, and a worker waits for its recording to begin.
BEGIN_S = 45.0
GO_S = 90.0
# Of several that begin at once on a node nsys ends every tenth with an error of its own (`sem_open`, 2022.4), which
# is well at the next try or the one after: they come apart by their pids.
TRIES = 4
APART_S = 0.05
_LONGEST_LINE = 2**16

# What the debug proxy of this process has to know: {"nsys": the watcher's socket} or {"profile": why there is none}.
for_proxy: dict[str, Any] = {}


def begin(settings: RunSettings) -> None:
    """Returns in the process that is to go on as the worker."""
    watcher = os.environ.pop(SOCKET, "")
    if watcher:
        for_proxy["nsys"] = watcher
        if not _is_let_go(watcher):
            # Who has started it has given up, and is the worker itself.
            os._exit(1)
        return
    wish = read_profile_request(os.environ)
    if wish is None or settings.profile is None:
        return
    known = known_of(settings, wish, worker_words())
    if not settings.profile.selects_rank(int(known["rank"]) if known["rank"] else None):
        return
    around = nsys_around.framework_nsys(os.environ) if nsys_around.INSIDE in os.environ else None
    try:
        if around is not None:
            _watch_framework(settings, settings.profile, known, around)
        elif wish["pattern"] != BY_FRAMEWORK:
            _begin_meant(settings, settings.profile, known)
    except OSError as error:
        _go_on(settings, known, f"nsys cannot be used: {error}")


def known_of(settings: RunSettings, wish: dict[str, str], words: list[str]) -> dict[str, Any]:
    """What can be said of a worker before Ray has told it anything."""
    rank = rank_of(os.environ, wish["name"])
    host, worker_id = socket.gethostname(), option(words, "worker-id")
    return {
        "run": settings.run,
        "worker_id": worker_id,
        # Containers of one node may share its name and the folder of reports, and have numbers of their own.
        "mark": worker_id[:8] or os.urandom(4).hex(),
        "actor_id": "",
        "pid": os.getpid(),
        "host": host,
        "node": host,
        "node_id": option(words, "node-id"),
        "node_ip": option(words, "node-ip-address"),
        "module": wish["module"],
        "class": wish["class"],
        "name": wish["name"],
        "rank": "" if rank is None else str(rank),
        "gpus": [],
        "pattern": wish["pattern"],
        "agent_port": agent_port(session_dir(words), option(words, "node-id")),
    }


def _begin_meant(settings: RunSettings, profile: ProfileSettings, known: dict[str, Any]) -> None:
    name = known["name"] or known["class"]
    nsys = installations.find_nsys(profile.nsys, os.environ)
    where = f" at {profile.nsys}" if profile.nsys else ""
    if not nsys:
        _go_on(settings, known, f"there is no nsys{where}")
        return
    said = f"Nsight profiling enabled for worker '{name}' (matched pattern '{known['pattern']}')"
    sys.stderr.write(f"{said}\n")
    why = ""
    for before in range(TRIES):
        time.sleep(before * APART_S * (1 + os.getpid() % 8))
        why, has_ended = _launched(settings, profile, {**known, "nsys": nsys}, said)
        if not has_ended:
            break
    _go_on(settings, known, why)


def _launched(
    settings: RunSettings, profile: ProfileSettings, known: dict[str, Any], said: str
) -> tuple[str, bool]:
    """One try, with a watcher and a session of its own; the answer is that of `_run_under`."""
    private = private_folder()
    session = f"eagleray-{os.path.basename(private).rpartition('-')[2].replace('_', 'x')}"
    words = arguments.to_stand_by(profile, session)
    told = {
        "known": {**known, "options": words},
        "reports": node_reports.folder_for(
            profile.reports, session_dir(worker_words()), settings.run
        ),
        "profile": settings.values["profile"],
        "nsys": known["nsys"],
        "session": session,
        "said": said,
    }
    return _run_under([known["nsys"], *words], _start_watcher(private, told), told)


def _watch_framework(
    settings: RunSettings,
    profile: ProfileSettings,
    known: dict[str, Any],
    framework: dict[str, Any],
) -> None:
    """Its framework has started nsys round it: that is watched, and stays as it is."""
    name = known["name"] or known["class"]
    said = f"Nsight profiling of worker '{name}' is that of its framework"
    nsys = framework["program"]
    private = private_folder()
    told = {
        "known": {**known, "nsys": nsys, "options": []},
        "reports": node_reports.folder_for(
            profile.reports, session_dir(worker_words()), settings.run
        ),
        "profile": settings.values["profile"],
        "nsys": nsys,
        "session": framework["session"],
        "said": said,
        "framework": framework,
    }
    for_proxy["nsys"] = _start_watcher(private, told)
    sys.stderr.write(f"{said}\n")
    _is_let_go(for_proxy["nsys"])


def _go_on(settings: RunSettings, known: dict[str, Any], why: str) -> None:
    """As the worker, without nsys; the reason stands in its log, at its debug proxy and beside the reports of others."""
    name = known["name"] or known["class"]
    problem = f"Node {known['host']}: {why}; worker '{name}' runs without nsys."
    sys.stderr.write(f"{problem}\n")
    shown = {"state": "missing", "said": problem, "problem": problem, "reports": []}
    for_proxy["profile"] = shown
    profile = settings.profile
    with contextlib.suppress(OSError):
        shared = profile.reports if profile is not None else ""
        folder = node_reports.folder_for(shared, session_dir(worker_words()), settings.run)
        node_reports.write_json(status_of(known, folder), {**known, **shown})


def status_of(known: dict[str, Any], folder: str) -> str:
    """The file in which a worker says how it stands."""
    return os.path.join(folder, f"{node_reports.stem(known)}.worker.json")


def _run_under(nsys: list[str], address: str, told: dict[str, Any]) -> tuple[str, bool]:
    """Does not return when the worker has begun under nsys; else why it has not, and whether nsys has ended itself."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as watcher:
        watcher.connect(address)
        try:
            front = subprocess.Popen([*nsys, *own_command()], env={**os.environ, SOCKET: address})
        except OSError as error:
            return f"nsys cannot be started: {error.strerror}", False
        worker = _started(watcher, front)
        if worker:
            # Who ends this process means the worker.
            signal.signal(signal.SIGTERM, lambda *_: _pass_on(worker, signal.SIGTERM))
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            code = front.wait()
            os._exit(code if code >= 0 else 128 - code)
    # Without this connection the watcher lets no worker begin under nsys, so that there is one only.
    if front.poll() is None:
        front.kill()
        front.wait()
        return f"nsys did not start the worker within {BEGIN_S:g} s", False
    return f"nsys ended with {front.returncode} and says why in the worker's log", True


def _started(watcher: socket.socket, front: subprocess.Popen[bytes]) -> int:
    """The worker's process once it has begun under nsys, 0 if it does not."""
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
            for said in messages.feed(data):
                if said.get("event") == "started":
                    jsonlines.send(watcher, {"op": "waits"})
                    return int(said["pid"])
    except OSError:
        pass
    return 0


def _start_watcher(folder: str, told: dict[str, Any]) -> str:
    """Starts it as a debug proxy is started; returns the address of its socket, which is there already."""
    from ..helper_process import spawn

    with open(os.path.join(folder, "begin.json"), "w", encoding="utf-8") as stream:
        json.dump(told, stream)
    address = os.path.join(folder, "socket")
    with held(folder) as lock, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(16)
        passed = [listener.fileno(), lock]
        # An nsys of the framework's would record it, too, and show it among the worker's own calls.
        environ = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        spawn("nsys.watcher", [folder, str(listener.fileno())], passed, environ)
    return address


def _is_let_go(address: str) -> bool:
    """Waits until what is to be recorded from the worker's start is recorded; whether this is to be the worker."""
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
    """How this process was started: the same interpreter, whoever has chosen it."""
    return [sys.executable, *worker_words()[1:]]


def worker_words() -> list[str]:
    words = getattr(sys, "orig_argv", None)
    if words is None:
        from .node_processes import command_of

        # Python 3.9 keeps them nowhere.
        words = command_of(os.getpid())
    return list(words)


def option(words: list[str], name: str) -> str:
    """The value of one of the words that Ray gives its workers."""
    start = f"--{name}="
    return next((word[len(start) :] for word in words if word.startswith(start)), "")


def session_dir(words: list[str]) -> str:
    return os.path.join(option(words, "temp-dir"), option(words, "session-name"))


def agent_port(folder: str, node: str) -> int:
    """Where Ray's agent of this node serves the logs; 0 if it has not written that down."""
    path = os.path.join(folder, f"dashboard_agent_listen_port_{node}")
    with contextlib.suppress(OSError, ValueError), open(path) as stream:
        return int(stream.read())
    return 0
