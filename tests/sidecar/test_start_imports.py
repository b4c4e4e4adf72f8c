"""A start imports only what it needs: areas that aren't used yet cost neither time nor memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRINT = "; import json, sys; print(json.dumps([name for name in sys.modules if name.startswith('eagleray.')]))"
SIDECAR = (
    "from eagleray.app import Settings; from eagleray.sidecar.features import build_server; "
    "build_server(Settings(discovery='off', slurm='off'))"
)
COMMAND = "from eagleray.cli.main import main; main(['clusters', '--json'])"
UNUSED = ("doctor", "observe", "profile.reports", "rollouts", "runs.presets", "debug.pdb")
UNUSED_BY_COMMAND = ("debug.pdb", "doctor", "observe", "profile", "rollouts")


@pytest.mark.parametrize(("code", "unused"), [(SIDECAR, UNUSED), (COMMAND, UNUSED_BY_COMMAND)])
def test_start_imports_no_area_that_is_not_used(
    tmp_path: Path, code: str, unused: tuple[str, ...]
) -> None:
    environ = {
        **os.environ,
        "EAGLERAY_HOME": str(tmp_path),
        "EAGLERAY_DISCOVERY": "off",
        "PYTHONPATH": str(ROOT / "pybackend"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code + PRINT],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = json.loads(done.stdout.splitlines()[-1])
    assert "eagleray.clusters.clusters" in imported
    early = [
        name
        for name in imported
        if any(f"{name}.".startswith(f"eagleray.{area}.") for area in unused)
    ]
    assert early == []
