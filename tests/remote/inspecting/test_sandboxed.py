"""Processes in a sandbox that kills for a system call of ours are read from outside, and continue; processes in a
container answer.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from eagleray.remote.inspecting.inspected_process import INSIDE, OUTSIDE
from eagleray.remote.inspecting.process_answers import raw_reading
from eagleray.remote.sampling import seccomp
from eagleray.remote.sampling.native import raw_native
from eagleray.remote.sampling.pyspy_dumps import dump, native_threads

from tests.remote.inspecting import sandbox
from tests.remote.inspecting.test_bad_moments import needs_namespaces
from tests.remote.inspecting.test_processes import TOOLS, ends, look, python, state_of, wait_until

ROOT = Path(__file__).parents[3]
CALLS = {
    "socket": (sandbox.SOCKET,),
    "clone": (sandbox.CLONE, sandbox.CLONE3),
    "mmap": (sandbox.MMAP,),
    # With this the kernel continues a wait that a mere stop has interrupted.
    "restart": (sandbox.RESTART,),
}
PROGRAM = """
import select, sys, time
sys.path.insert(0, {root!r})
from tests.remote.inspecting.sandbox import KILL, install
def rollout(step):
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]: time.sleep(0.2)
    print("went on", flush=True)
install(KILL, *{calls!r})
rollout(7)
"""


def program(calls: tuple[int, ...]) -> str:
    return PROGRAM.format(root=str(ROOT), calls=calls)


@pytest.mark.parametrize("call", CALLS)
def test_process_that_may_be_killed_for_a_call_is_read_by_pyspy_and_continues(call: str) -> None:
    with python(program(CALLS[call])) as process:
        wait_until(lambda: state_of(process.pid) == "S")
        found = look(process.pid, "step")
        assert found.how == OUTSIDE and "sandbox (seccomp)" in found.why_outside
        assert "rollout" in [frame.function for frame in found.stack]
        assert found.values[0].value == "7"
        assert raw_reading(process.pid) == {"reason": "seccomp"}
        assert dump(process.pid, TOOLS).how == "py-spy nonblocking"
        assert native_threads(process.pid, TOOLS).reason == "seccomp"
        assert raw_native(process.pid, TOOLS)["reason"] == "seccomp"
        assert ends(process) == (0, "went on\n", "")


def test_filter_of_another_thread_counts() -> None:
    code = "import threading\n" + program(CALLS["socket"]).replace(
        "install(KILL", "def sandboxed():\n    install(KILL"
    ).replace("\nrollout(7)", "\n    rollout(7)\nthreading.Thread(target=sandboxed).start()")
    with python(code) as process:
        assert seccomp.may_kill(process.pid)


# Process 1 of a namespace, as a container has it: with a filter of its own, which each of its processes inherits.
CONTAINER = """
import json, subprocess, sys
sys.path[:0] = [{root!r}, {root!r} + "/pybackend"]
from tests.remote.inspecting.sandbox import MOUNT, REFUSE, install
from tests.remote.inspecting.test_processes import look, python
from tests.remote.inspecting.test_sandboxed import CALLS, program
install(REFUSE, MOUNT)
found = []
plain = "import sys\\nprint('ready', flush=True)\\nsys.stdin.readline()"
for code in (plain, program(CALLS["socket"])):
    with python(code) as process:
        look_at = look(process.pid)
        found.append([look_at.how, look_at.why_outside, process.communicate("\\n")[0], process.returncode])
print(json.dumps(found))
"""


@needs_namespaces
def test_container_with_a_profile_is_inspected_and_a_sandbox_within_it_is_not() -> None:
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c"]
    code = CONTAINER.format(root=str(ROOT))
    done = subprocess.run([*command, code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    plain, sandboxed = json.loads(done.stdout)
    assert plain == [INSIDE, "", "", 0]
    how, why, output, code_of_exit = sandboxed
    assert (how, output, code_of_exit) == (OUTSIDE, "went on\n", 0) and "seccomp" in why


@needs_namespaces
def test_filter_of_another_container_is_not_taken_for_ours() -> None:
    code = program(CALLS["socket"])
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", code]
    pipe = subprocess.PIPE
    # It ends with its input.
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as container:
        assert container.stdout is not None and container.stdout.readline() == "ready\n"
        children = Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text()
        [inner] = children.split()
        assert seccomp.may_kill(int(inner))
        container.communicate("\n")
