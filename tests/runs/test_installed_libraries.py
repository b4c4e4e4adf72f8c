"""Programs that connect to a running cluster: a worker filter, an installed library, and `uv run`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import omegaconf
import pytest

from tests.real_ray.command import Command, stand
from tests.runs.terminal import Terminal

pytestmark = pytest.mark.real_ray

CACHE = Path(os.environ.get("EAGLERAY_DEV_CACHE", Path.home() / ".cache" / "eagleray-dev"))
LIBRARY = Path(omegaconf.__file__).with_name("omegaconf.py")
PROGRAM = """
import ray


def steps():
    import omegaconf

    return dict(omegaconf.OmegaConf.create({"steps": 3}))


@ray.remote
class Policy:
    def step(self):
        return steps()


@ray.remote
class Other:
    def step(self):
        return steps()


ray.init()
policy, other = Policy.remote(), Other.remote()
print("other", ray.get(other.step.remote()), flush=True)
print("policy", ray.get(policy.step.remote()), flush=True)
"""


def uv() -> str:
    return str(max(CACHE.glob("uv-*/bin/uv")))


STARTERS = {
    "python": lambda: [sys.executable],
    "uv run": lambda: [uv(), "run", "--offline", "--no-project", "--python", sys.executable],
}


@pytest.mark.parametrize("start", STARTERS)
def test_selected_worker_stops_in_a_library(joined: Path, tmp_path: Path, start: str) -> None:
    """The driver is not meant and has no debug proxy; under `uv run` Ray calls no hook of a run."""
    (tmp_path / "program.py").write_text(PROGRAM)
    lines = LIBRARY.read_text().splitlines()
    line = lines.index("            if obj is _DEFAULT_MARKER_:") + 1
    options = ["--workers", "*Policy*", "--break", f"{LIBRARY}:{line}"]
    terminal = Terminal(tmp_path, "run", *options, "--", *STARTERS[start](), "program.py")
    command = Command(dict(os.environ))
    try:
        held = command.wait_row("Policy", state="paused", held=True)
        assert held["location"]["line"] == line
        with command.editor(held["worker_id"]) as (client, _):
            assert stand(client)["line"] == line
        terminal.wait_output("other {'steps': 3}")
        assert command.run("continue", held["worker_id"]).returncode == 0
        assert terminal.code() == 0, terminal.errors()
        assert terminal.output().endswith("policy {'steps': 3}\n")
    finally:
        terminal.interrupt_hard()
