"""Another user of a worker's node gets no answer from debugpy before, during and after its use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import debugpy
import pytest

from tests.ray_cluster import wait_for
from tests.remote.injected.runs import ProxyTestClient, Run, RunDebugging, breakpoints, line_of
from tests.remote.injected.sockets_of_run import answers, listeners, processes

LOOPING = Path(__file__).parent / "programs" / "looping.py"
HOLD_S = 0.5


class Intruder:
    """Tries every listener of the run as another user, whenever it is called."""

    def __init__(self, run: Run, pid: int) -> None:
        self._run = run
        self._pid = pid
        # Everybody may write there.
        self._made = run.folder / "open" / "made"
        self._made.parent.mkdir()
        self._made.parent.chmod(0o777)

    def __call__(self, phase: str) -> None:
        heard = answers(self._run, self._made, self._pid)
        answered = [text for text in heard if "Content-Length" in text or text.endswith("…")]
        assert not answered, f"{phase}: {answered}"
        assert not self._made.exists(), phase


@contextmanager
def looping(run: Run, **env: str) -> Iterator[subprocess.Popen[str]]:
    """A program of the run, which stops at its line again and again."""
    with subprocess.Popen(
        [sys.executable, str(LOOPING), str(run.folder / "end")],
        env={**os.environ, **run.env(**env)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            yield program
        finally:
            program.kill()


@pytest.mark.parametrize("children", [False, True])
def test_another_user_gets_no_answer_from_debugpy_in_any_phase(
    tmp_path: Path, children: bool
) -> None:
    points = breakpoints(LOOPING, "loop")
    run = Run(tmp_path, breakpoints=points, children=children, hold_s=HOLD_S)
    with looping(run) as program:
        file = run.wait_proxy_file()
        intrude = Intruder(run, program.pid)
        with closing(ProxyTestClient(file["host"], file["port"])) as proxy:
            intrude("nobody has asked for the debugger")
            proxy.say(op="debug")
            proxy.wait("listening")
            intrude("debugpy has started")
            debugging = RunDebugging(proxy, run)
            place = debugging.stop()
            assert place == ("<module>", line_of(LOOPING, "loop"))
            intrude("a debugger is attached")
            assert debugging.client.evaluate("6 * 7") == "42"
            debugging.client.close()
            proxy.wait("left")
            intrude("the worker was released")
            debugging = RunDebugging(proxy, run)
            assert debugging.stop() == place
            proxy.cut()
            proxy.wait("lost")
            intrude("the debugger was lost")
            proxy.wait("left", 2)
            intrude("the lost debugger was given up")
            ports = len(listeners(run))
        intrude("the run has ended")
        (tmp_path / "end").touch()
        assert program.communicate(timeout=60)[0] == "counted\n"
    # The proxy listens for those who prove themselves; debugpy only for processes that the worker starts.
    assert ports == 1 + children
    wait_for("the end of all processes of the run", lambda: not processes(run))


def test_intruder_gets_an_answer_if_it_is_the_same_user(tmp_path: Path) -> None:
    """Otherwise the test above would prove nothing."""
    run = Run(tmp_path, breakpoints=breakpoints(LOOPING, "loop"), children=True)
    with looping(run) as program:
        file = run.wait_proxy_file()
        with closing(ProxyTestClient(file["host"], file["port"])) as proxy:
            RunDebugging(proxy, run).stop()
            heard = answers(run, tmp_path / "made", program.pid, os.getuid())
            assert any("pydevdAuthorize" in text for text in heard)


def test_debugpy_whose_adapter_fails_opens_no_port_and_the_program_continues(
    tmp_path: Path,
) -> None:
    broken = tmp_path / "debugpy"
    broken.mkdir()
    for part in Path(debugpy.__file__).parent.iterdir():
        if part.name != "adapter":
            (broken / part.name).symlink_to(part)
    run = Run(tmp_path, breakpoints=breakpoints(LOOPING, "loop"))
    path = f"{run.env()['PYTHONPATH']}:{tmp_path}"
    with looping(run, PYTHONPATH=path) as program:
        file = run.wait_proxy_file()
        with closing(ProxyTestClient(file["host"], file["port"])) as proxy:
            proxy.say(op="debug")
            problem = proxy.wait("problem")
            assert problem["code"] == "debugpy-failed"
            assert "no folder of debugpy's adapter" in problem["text"]
            assert len(listeners(run)) == 1
        (tmp_path / "end").touch()
        assert program.communicate(timeout=60) == ("counted\n", "")
