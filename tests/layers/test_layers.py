"""Each contract of import-linter breaks when its rule is broken, and names the planted module."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TYPE_CHECKING_IMPORT = (
    "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import eagleray.sidecar"
)

# The contract's name, the module that is planted, and the import that it holds.
PLANTS = [
    ("Layers", "common/planted_layer.py", "import eagleray.tools"),
    ("Layers", "tools/planted_layer.py", "import eagleray.debug.workers"),
    ("Layers", "routes/planted_layer.py", "import eagleray.ray"),
    ("Layers", "protocol/planted_layer.py", "import eagleray.routes"),
    ("Layers", "clusters/planted_layer.py", "import eagleray.sidecar"),
    ("Layers", "clusters/planted_typing.py", TYPE_CHECKING_IMPORT),
    ("Layers", "clusters/planted_area.py", "import eagleray.debug.workers"),
    ("Rooms of debug", "debug/workers/planted_room.py", "import eagleray.debug.attaching"),
    ("Rooms of profile", "profile/recordings/planted_room.py", "import eagleray.profile.reports"),
    ("Rooms of observe", "observe/look_inside/planted_room.py", "import eagleray.observe.hangs"),
    ("Only sidecar", "clusters/planted_pygls.py", "import pygls"),
    ("Nothing outside", "debug/workers/planted_ray.py", "import ray"),
    ("Nothing outside", "adapter/planted_torch.py", "import torch"),
    ("adapter/", "adapter/planted_client.py", "import eagleray.adapter_client"),
    ("Nothing imports", "tools/planted_adapter.py", "import eagleray.adapter.planted_client"),
    ("remote/", "remote/injected/planted_common.py", "import eagleray.common"),
    ("remote/", "remote/inspecting/planted_common.py", "import eagleray.common"),
    ("Rooms of remote", "remote/sampling/planted_layer.py", "import eagleray.remote.inspecting"),
    ("Nothing outside", "remote/sampling/planted_ray.py", "import ray"),
    ("Layers", "planted_package.py", "import os"),
]
CIRCLE = [
    ("ray/planted_left.py", "from eagleray.ray import planted_right"),
    ("ray/planted_right.py", "from eagleray.ray import planted_left"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns what import-linter says of a copy with every plant in it: text by the contract's name."""
    folder = tmp_path_factory.mktemp("planted")
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(ROOT / "pybackend", folder / "pybackend")
    for file, line in [*(plant[1:] for plant in PLANTS), *CIRCLE]:
        planted = folder / "pybackend" / "eagleray" / file
        planted.write_text(f'"""Planted."""\n\n{line}\n')
    # Colours and folded lines would hide the names that are looked for.
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "400"}
    environment |= {"PYTHONPATH": str(folder / "pybackend")}
    environment.pop("FORCE_COLOR", None)
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    _, _, broken = done.stdout.partition("Broken contracts")
    parts = re.split(r"\n(?=[^\n]+\n-{10,}\n)", broken)
    return {part.splitlines()[0]: part for part in parts if part.strip()}


@pytest.mark.parametrize(("contract", "file", "line"), PLANTS)
def test_planted_import_is_caught(
    report: dict[str, str], contract: str, file: str, line: str
) -> None:
    module = "eagleray." + file.removesuffix(".py").replace("/", ".")
    told = [text for name, text in report.items() if name.startswith(contract)]
    assert any(module in text for text in told), f"{module} was not caught in:\n{told or report}"


def test_planted_circle_is_caught(report: dict[str, str]) -> None:
    (told,) = (text for name, text in report.items() if name.startswith("Modules"))
    _, _, circle = told.partition("No cycles are allowed in eagleray.ray.")
    assert re.search(r"- \.planted_(left|right) -> \.planted_(left|right)", circle), told
