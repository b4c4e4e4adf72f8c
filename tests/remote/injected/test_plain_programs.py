"""A real Python program with a real debugpy, without Ray."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected.ed25519 import SecretKey

from tests.adapter.harness import PYTHONS
from tests.adapter.proxied import proxies_of
from tests.ray_cluster import wait_for
from tests.remote.injected.fake_ray import install_fake_ray
from tests.remote.injected.runs import (
    PACKAGE,
    ProxyTestClient,
    Run,
    RunDebugging,
    breakpoints,
    line_of,
)

PROGRAMS = Path(__file__).parent / "programs"
PLAIN, LATE = PROGRAMS / "plain.py", PROGRAMS / "late.py"
FAILING, LOOPING = PROGRAMS / "failing.py", PROGRAMS / "looping.py"
FAMILY = PROGRAMS / "family.py"


class Programs:
    """Starts programs with one Python, with their output in pipes; all have ended when the test ends."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._started: list[subprocess.Popen[str]] = []

    def __call__(self, run: Run | None, *words: str | Path, **env: str) -> subprocess.Popen[str]:
        """A program as a part of the run, or plain."""
        program = subprocess.Popen(
            [self._python, *map(str, words)],
            env={**os.environ, **(run.env(**env) if run else env)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._started.append(program)
        return program

    def end(self) -> None:
        for program in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.communicate()


# Versions whose debugpy traces in another way.
on_each_python = pytest.mark.parametrize("python", PYTHONS)


@pytest.fixture
def python() -> str:
    """The interpreter of the programs; a test may be parametrized with several."""
    return sys.executable


@pytest.fixture
def start(python: str) -> Iterator[Programs]:
    programs = Programs(python)
    yield programs
    programs.end()


def said(program: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code and what stood on stdout and stderr at the end."""
    out, err = program.communicate(timeout=90)
    return program.returncode, out, err


@contextlib.contextmanager
def driver_proxy(run: Run) -> Iterator[ProxyTestClient]:
    file = run.wait_proxy_file()
    proxy = ProxyTestClient(file["host"], file["port"])
    try:
        yield proxy
    finally:
        proxy.close()


@on_each_python
def test_program_stops_in_main_in_a_thread_and_in_a_late_module(
    start: Programs, tmp_path: Path
) -> None:
    points = breakpoints(PLAIN, "begins", "thread") + breakpoints(LATE, "late")
    run = Run(tmp_path, breakpoints=points)
    program = start(run, PLAIN, PROGRAMS, "x y")
    with driver_proxy(run) as proxy:
        debugging = RunDebugging(proxy, run)
        assert debugging.stop() == ("<module>", line_of(PLAIN, "begins"))
        names = {thread["name"] for thread in debugging.client.request("threads")["threads"]}
        assert names == {"MainThread"}, "our own threads are hidden"
        debugging.go_on()
        assert debugging.stop() == ("in_thread", line_of(PLAIN, "thread"))
        debugging.go_on()
        debugging.follow()
        assert debugging.stop() == ("<module>", line_of(LATE, "late"))
        debugging.go_on()
        assert said(program) == (0, "begins\nthread 3\nlate 4\nends ['x y']\n", "")
        assert proxy.wait("ended")
    assert wait_for("the end of the announcement", lambda: not run.proxy_files())


def test_program_without_debugger_runs_to_its_end(start: Programs, tmp_path: Path) -> None:
    text = "import sys\nprint('debugpy' in sys.modules)  # stop: here\n"
    (tmp_path / "main.py").write_text(text)
    run = Run(tmp_path, breakpoints=breakpoints(tmp_path / "main.py", "here"), wait_s=0.2)
    assert said(start(run, tmp_path / "main.py")) == (0, "False\n", "")


@pytest.mark.parametrize("folder", ["", "/not/there"])
def test_program_that_cannot_be_found_does_not_wait(
    start: Programs, tmp_path: Path, folder: str
) -> None:
    (tmp_path / "main.py").write_text("print(1 / 0)  # stop: here\n")
    points = breakpoints(tmp_path / "main.py", "here")
    run = Run(tmp_path, breakpoints=points, post_mortem=True, main="main.py", wait_s=1000)
    run.settings["folder"] = folder
    code, _, err = said(start(run, tmp_path / "main.py"))
    assert (code, err.count("ZeroDivisionError"), "eagleray" in err) == (1, 1, False)


def test_program_on_another_machine_is_found_once_it_has_joined(
    start: Programs, tmp_path: Path
) -> None:
    install_fake_ray(tmp_path)
    (tmp_path / "main.py").write_text(
        "from ray._private import worker\nworker.connect()\nprint('joined')  # stop: here\n"
    )
    run = Run(tmp_path, breakpoints=breakpoints(tmp_path / "main.py", "here"))
    run.settings["folder"] = ""
    program = start(run, tmp_path / "main.py", PORT_FILE=str(tmp_path / "port"))
    port = wait_for("the debug proxy in the table", lambda: _text(tmp_path / "port"))
    proxy = ProxyTestClient("127.0.0.1", int(port))
    debugging = RunDebugging(proxy, run)
    assert debugging.stop() == ("<module>", 3)
    debugging.go_on()
    assert said(program)[:2] == (0, "joined\n")
    proxy.close()


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def test_wrong_key_is_refused(start: Programs, tmp_path: Path) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(LOOPING, "loop"))
    program = start(run, LOOPING, tmp_path / "end")
    file = run.wait_proxy_file()
    stranger = ProxyTestClient(file["host"], file["port"], key=SecretKey(bytes(32)))
    assert stranger.wait("error")["error"] == "refused"
    stranger.close()
    (tmp_path / "end").touch()
    with driver_proxy(run) as proxy:
        RunDebugging(proxy, run)
        assert said(program) == (0, "counted\n", "")


@on_each_python
def test_running_program_takes_new_breakpoints_and_is_paused(
    start: Programs, tmp_path: Path
) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(PLAIN, "begins"), everywhere=True)
    (tmp_path / "main.py").write_text("import sys\n" + LOOPING.read_text())
    main = tmp_path / "main.py"
    run.settings["breakpoints"] = [{"path": str(main), "lines": [{"line": 1}]}]
    program = start(run, main, tmp_path / "end")
    with driver_proxy(run) as proxy:
        debugging = RunDebugging(proxy, run)
        debugging.stop()
        debugging.go_on()
        proxy.say(
            op="breakpoints", breakpoints=breakpoints(main, "loop") + breakpoints(LATE, "late")
        )
        assert proxy.wait("files")["files"] == {str(main): str(main)}
        debugging.client.set_breakpoints(str(main), [line_of(main, "loop")])
        assert debugging.stop() == ("<module>", line_of(main, "loop"))
        debugging.client.set_breakpoints(str(main), [])
        debugging.go_on()
        debugging.client.request("pause", threadId=debugging.thread)
        assert debugging.stop()[0] in ("<module>",)
        (tmp_path / "end").touch()
        debugging.go_on()
        assert said(program) == (0, "counted\n", "")


def test_running_program_is_attached(start: Programs, tmp_path: Path) -> None:
    """No client came in time; later one does."""
    run = Run(tmp_path, breakpoints=breakpoints(LOOPING, "loop"), wait_s=0.1)
    program = start(run, LOOPING, tmp_path / "end")
    with driver_proxy(run) as proxy:
        if proxy.hello["state"] != "free":
            proxy.wait("free")
        debugging = RunDebugging(proxy, run, waits=False)
        assert debugging.stop() == ("<module>", line_of(LOOPING, "loop"))
        (tmp_path / "end").touch()
        debugging.client.set_breakpoints(str(LOOPING), [])
        debugging.go_on()
        assert said(program) == (0, "counted\n", "")


@on_each_python
def test_uncaught_failure_stops(start: Programs, tmp_path: Path) -> None:
    run = Run(tmp_path, breakpoints=[], post_mortem=True, main="programs/failing.py")
    program = start(run, FAILING, "a")
    with driver_proxy(run) as proxy:
        debugging = RunDebugging(proxy, run)
        assert debugging.stop() == ("fail", line_of(FAILING, "fails"))
        debugging.go_on()
        assert said(program) == said(start(None, FAILING, "a"))


PLAIN_SETTINGS: list[dict[str, Any]] = [
    {"breakpoints": []},
    {"breakpoints": [{"path": "/elsewhere/failing.py", "lines": [{"line": 1}]}]},
    {"breakpoints": [], "workers": ["*Policy*"], "post_mortem": True},
    {"breakpoints": [], "children": True},
]


@pytest.mark.parametrize("settings", PLAIN_SETTINGS)
def test_program_prints_the_same_as_without_us(
    start: Programs, tmp_path: Path, settings: dict[str, Any]
) -> None:
    run = Run(tmp_path, **settings)
    assert said(start(run, FAILING, "a b")) == said(start(None, FAILING, "a b"))


@pytest.mark.parametrize(
    "broken", ["starting.py", "settings.py", "debuggable_process.py", "debug_proxy/process.py"]
)
def test_failures_of_our_code_print_at_most_one_line(
    start: Programs, tmp_path: Path, broken: str
) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(PLAIN, "begins"))
    code_of_ours = run.path / PACKAGE / broken
    assert code_of_ours.exists()
    code_of_ours.write_text("raise RuntimeError('planted')\n")
    code, out, err = said(start(run, PLAIN, PROGRAMS))
    plain = said(start(None, PLAIN, PROGRAMS))
    assert (code, out) == plain[:2]
    added = err.removeprefix(plain[2]).splitlines()
    assert len(added) <= 1 and all(line.startswith("eagleray: ") for line in added)


def test_unreadable_settings_do_not_stop_the_program(start: Programs, tmp_path: Path) -> None:
    run = Run(tmp_path, breakpoints=[])
    code, out, err = said(start(run, PLAIN, PROGRAMS, EAGLERAY_RUN="{"))
    assert (code, out) == said(start(None, PLAIN, PROGRAMS))[:2]
    assert err.count("\n") == 1 and err.startswith("eagleray: ")


@pytest.mark.parametrize(
    "text", ["print('mine')\n", "print('mine')\nraise ImportError('of mine')\n"]
)
def test_sitecustomize_of_the_user_is_chained(start: Programs, tmp_path: Path, text: str) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text(text)
    run = Run(tmp_path, breakpoints=[])
    path = f"{run.env()['PYTHONPATH'].partition(':')[0]}:{theirs}"
    ours = said(start(run, "-c", "import sitecustomize as s; print(s.__file__)", PYTHONPATH=path))
    plain = said(
        start(None, "-c", "import sitecustomize as s; print(s.__file__)", PYTHONPATH=str(theirs))
    )
    assert ours == plain
    assert "mine" in ours[1]


def test_missing_debugpy_is_reported_and_a_copy_is_used(start: Programs, tmp_path: Path) -> None:
    import debugpy

    broken, offered = tmp_path / "broken" / "debugpy", tmp_path / "offered"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('not here')\n")
    offered.mkdir()
    (offered / "debugpy").symlink_to(Path(debugpy.__file__).parent)
    run = Run(tmp_path, breakpoints=breakpoints(LOOPING, "loop"))
    path = f"{run.env()['PYTHONPATH']}:{broken.parent}"
    (tmp_path / "end").touch()
    program = start(run, LOOPING, tmp_path / "end", PYTHONPATH=path)
    with driver_proxy(run) as proxy:
        proxy.say(op="debug")
        assert proxy.wait("problem")["code"] == "no-debugpy"
        assert said(program) == (0, "counted\n", "")
    wait_for("the end of the announcement", lambda: not run.proxy_files())
    (tmp_path / "end").unlink()
    run.settings["debugpy"] = str(offered)
    program = start(run, LOOPING, tmp_path / "end", PYTHONPATH=path)
    with driver_proxy(run) as proxy:
        debugging = RunDebugging(proxy, run)
        assert debugging.stop() == ("<module>", line_of(LOOPING, "loop"))
        assert debugging.client.evaluate("'offered' in str(__import__('sys').path)") == "False"
        (tmp_path / "end").touch()
        debugging.client.set_breakpoints(str(LOOPING), [])
        debugging.go_on()
        assert said(program) == (0, "counted\n", "")


def test_program_continues_when_its_proxy_dies(start: Programs, tmp_path: Path) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(PLAIN, "begins"), wait_s=80)
    program = start(run, PLAIN, PROGRAMS)
    run.wait_proxy_file()
    (proxy,) = proxies_of(program.pid)
    os.kill(proxy, signal.SIGKILL)
    assert said(program)[0] == 0


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_children_get_no_proxy_unless_requested(
    start: Programs, tmp_path: Path, method: str
) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(FAMILY, "work"))
    program = start(run, FAMILY, method)
    with driver_proxy(run) as proxy:
        RunDebugging(proxy, run)
        assert said(program) == (0, "child 5\n", "")


@on_each_python
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_requested_children_have_proxies_of_their_own(
    start: Programs, tmp_path: Path, method: str
) -> None:
    """No client debugs their parent, which would make debugpy itself take them."""
    run = Run(tmp_path, breakpoints=breakpoints(FAMILY, "work"), children=True, wait_s=4)
    program = start(run, FAMILY, method)
    parent = run.wait_proxy_file()

    def of_child() -> dict[str, Any] | None:
        return next((file for file in run.proxy_files() if file["pid"] != parent["pid"]), None)

    file = wait_for("the debug proxy of the child", of_child)
    assert file is not None and file["kind"] == "child"
    with contextlib.closing(ProxyTestClient(file["host"], file["port"])) as proxy:
        debugging = RunDebugging(proxy, run)
        assert debugging.stop() == ("work", line_of(FAMILY, "work"))
        debugging.go_on()
        assert said(program) == (0, "child 5\n", "")


EARLY = """
import sys, threading, types
from eagleray.remote.injected import debuggable_process
from eagleray.remote.injected.debug_proxy import handle

class Proxy:
    def __init__(self):
        self.sent = []
    def serve(self, on_line):
        self.on_line = on_line
    def send(self, event, **more):
        self.sent.append(event)
        # Asks when the wait is over, and before that was told.
        if event == sys.argv[1]:
            self.on_line({"op": "debug"})

    port = 4711

class Debugger:
    children = is_attached = is_listening = False
    version = ""
    changes_commands = False
    threads = []
    def listen(self):
        self.threads.append(threading.current_thread().name)
        self.is_listening = True
    def take_channel(self):
        return None
    def wait(self, seconds):
        return False

proxy = Proxy()
handle.start_proxy = lambda *_: proxy
settings = types.SimpleNamespace(
    debugpy="", children=False, paths={}, run="r", verifier="", hold_s=1.0, wait_s=0.01, folder=""
)
hook = types.SimpleNamespace(stems=set(), on_import=None, after=lambda *_: None, on_loaded=lambda *_: None)
debuggable_process.UnpicklingHook = lambda add: types.SimpleNamespace(install=lambda hook: None)
process = debuggable_process.DebuggableProcess(settings, "driver", hook)
process.debugger = Debugger()
process.files = {"/w/a.py": "/w/a.py"}
if sys.argv[1] == "open":
    # As a client that asks once the debug proxy is there, in the thread that reads.
    def ask(port):
        thread = threading.Thread(target=proxy.on_line, args=({"op": "debug"},), name="reader")
        thread.start()
        thread.join()
    process.announce = ask
process.wait_for_debugger("files")
print(process.debugger.threads, proxy.sent)
"""


@pytest.mark.parametrize(
    ("when", "sent"),
    [("open", "['waiting', 'listening', 'free']"), ("free", "['waiting', 'free', 'listening']")],
)
def test_client_that_asks_before_or_after_the_wait_is_answered_by_the_waiting_thread(
    when: str, sent: str
) -> None:
    """The thread that reads may not import debugpy while the program waits within an import, such as the import of
    `site`.
    """
    done = subprocess.run(
        [sys.executable, "-c", EARLY, when], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout.strip(), done.stderr) == (f"['MainThread'] {sent}", "")
