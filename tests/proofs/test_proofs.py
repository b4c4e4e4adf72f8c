"""Programs not written by us: Ray Train's TorchTrainer and RLlib's PPO, listed, attached, read, continued."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ray_cluster import PROGRAMS, RayCluster, start_cluster, temporary_home, wait_for
from tests.real_ray.command import Command, Row, line_of, stand

pytestmark = [pytest.mark.proofs, pytest.mark.timeout(500)]

CACHE = Path(os.environ.get("EAGLERAY_DEV_CACHE", Path.home() / ".cache" / "eagleray-dev"))
PYTHON = os.environ.get("EAGLERAY_PROOFS_PYTHON", str(CACHE / "proofs" / "bin" / "python"))
LIBRARY_BREAKPOINT = """

_step_of_the_library = CartPoleEnv.step
_steps = 0


def _step(self, action):
    global _steps
    _steps += 1
    if _steps == 2:
        breakpoint()
    return _step_of_the_library(self, action)  # stands: library


CartPoleEnv.step = _step
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with start_cluster(python=PYTHON) as started:
        yield started


@pytest.fixture(scope="module")
def eagleray(cluster: RayCluster) -> Iterator[Command]:
    with temporary_home() as home:
        yield Command(cluster.eagleray_env(home))


def wait_rows(eagleray: Command, count: int) -> list[Row]:
    rows: list[Row] = []

    def enough() -> bool:
        rows[:] = eagleray.paused()
        return len(rows) >= count

    wait_for(f"{count} rows", enough, patience_s=240)
    return rows


def test_torch_trainer_with_two_gloo_workers(
    cluster: RayCluster, eagleray: Command, tmp_path: Path
) -> None:
    path = PROGRAMS / "proofs" / "torch_trainer.py"
    program = cluster.run(path, str(tmp_path))
    try:
        rows = wait_rows(eagleray, 2)
        ranks = set()
        for row in rows:
            with eagleray.editor(row["worker_id"]) as (client, _):
                frame = stand(client)
                assert (frame["file"], frame["line"]) == (str(path), line_of(path, "train_func"))
                ranks.add(client.variables(frame["id"])["rank"])
                assert client.evaluate("model.module.in_features", frame["id"]) == "4"
                assert client.evaluate("torch.distributed.get_backend()", frame["id"]) == "'gloo'"
                client.leave()
        assert ranks == {"0", "1"}
        program.wait_output("trained: error None")
        assert program.wait() == 0
    finally:
        program.end()


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """A copy of an installed library, whose own file has a breakpoint()."""
    asked = "import gymnasium, pathlib; print(pathlib.Path(gymnasium.__file__).parent)"
    found = subprocess.run([PYTHON, "-c", asked], capture_output=True, text=True, check=True)
    folder = tmp_path / "lib" / "python3.11" / "site-packages"
    shutil.copytree(found.stdout.strip(), folder / "gymnasium")
    with (folder / "gymnasium/envs/classic_control/cartpole.py").open("a") as file:
        file.write(LIBRARY_BREAKPOINT)
    return folder


def test_rllib_ppo_cartpole(cluster: RayCluster, eagleray: Command, site_packages: Path) -> None:
    path = PROGRAMS / "proofs" / "cartpole.py"
    library = site_packages / "gymnasium/envs/classic_control/cartpole.py"
    program = cluster.run(path, str(site_packages))
    try:
        (row,) = wait_rows(eagleray, 1)
        with eagleray.editor(row["worker_id"]) as (client, _):
            frame = stand(client)
            assert (frame["file"], frame["line"]) == (str(library), line_of(library, "library"))
            assert client.evaluate("int(action)", frame["id"]) in ("0", "1")
            client.request("continue", threadId=frame["thread"])
            frame = stand(client)
            assert (frame["file"], frame["line"]) == (str(path), line_of(path, "env"))
            assert client.evaluate("self.steps", frame["id"]) == "3"
            client.leave()
        program.wait_output("trained: iteration 1")
    finally:
        program.end()
