"""A script sees stubs and coreutils only; what it writes and removes is thrown away."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runs.presets_trial.sandbox import Copy, Sandbox, why_not

ROOT = Path(__file__).parents[3]
UNAVAILABLE = why_not()


@pytest.fixture
def box() -> Iterator[Sandbox]:
    box = Sandbox()
    yield box
    box.close()


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


DATA = """. /opt/driver/set_env.sh
set -u
/home/someone/bin/python -m verl.trainer.main_ppo $DATA_HOME
"""
SCRIPT = """set -e
rm -rf "$PWD"/* /tmp/* ~/* 2>/dev/null || true
echo lost > README.md
[ ! -e /root ] && [ ! -e /work ] && unknown_program "outside is hidden"
pip install everything
DEVICE=$(python3 -c 'import torch_npu' && echo npu || echo gpu)
export DEVICE
exec python3 -m train "a b" "" "$@"
"""


def test_a_script_reaches_nothing_but_stubs(tmp_path: Path, box: Sandbox) -> None:
    if UNAVAILABLE:
        assert "unshare" in UNAVAILABLE or "namespaces" in UNAVAILABLE
        return
    write(tmp_path, "README.md", "kept")
    write(tmp_path, "run.sh", SCRIPT)
    found = box.run(tmp_path, ["bash", "run.sh", "c"], {})
    assert [(call.program, call.arguments) for call in found.calls] == [
        ("unknown_program", ("outside is hidden",)),
        ("pip", ("install", "everything")),
        ("python3", ("-c", "import torch_npu")),
        ("python3", ("-m", "train", "a b", "", "c")),
    ]
    assert (found.code, found.calls[-1].env["DEVICE"]) == (0, "gpu")
    assert (tmp_path / "README.md").read_text() == "kept"


def test_a_copy_runs_in_place_of_its_script(tmp_path: Path, box: Sandbox) -> None:
    if UNAVAILABLE:
        return
    script = write(tmp_path, "examples/run.sh", "python3 -m train\n")
    copy = Copy(script, 'python3 "$EAGLERAY_SCRIPT"\n')
    found = box.run(tmp_path, ["bash", "examples/run.sh"], {}, copy)
    assert [call.arguments for call in found.calls] == [(str(script),)]


def test_the_trial_prints_counts_and_failures(tmp_path: Path) -> None:
    checkout = tmp_path / "verl-fork"
    write(checkout, "verl/version/version", "0.7.0\n")
    write(checkout, "setup.py", "")
    write(checkout, "examples/good.sh", 'python3 -m verl.trainer.main_ppo a=1 "$@"\n')
    write(checkout, "examples/tool.sh", "python3 tools/convert.py a=1\n")
    write(
        checkout,
        "examples/usage.sh",
        '[ $# = 9 ] || exit 1\npython3 -m verl.trainer.main_ppo "$@"\n',
    )
    write(checkout, "examples/data.sh", DATA)
    rows = tmp_path / "rows.json"
    command = [
        "-m",
        "tests.runs.presets_trial",
        "--repositories",
        str(tmp_path),
        "--processes",
        "1",
    ]
    done = subprocess.run(
        [sys.executable, *command, "--json", str(rows)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "pybackend"), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "4 passed, 0 failed", done.stdout + done.stderr
    arrived = {row["source"]: row["arrival"] for row in json.loads(rows.read_text())}
    assert arrived.pop("examples/tool.sh") == ""
    if UNAVAILABLE:
        assert set(arrived.values()) == {"not executed"}
    else:
        assert arrived == {
            "examples/good.sh": "exact",
            "examples/data.sh": "exact",
            "examples/usage.sh": "line not reached",
        }
    assert "| verl-fork | 4 | 3 | 1 |" in done.stdout
