"""The process with the reference: what stops it, and what can be wrong with it; none of these needs torch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.comparing.engines.torch_reference import (
    PROGRAM,
    TorchModel,
    TorchReference,
)

from tests.engine.fixtures import Engine

COMMAND = Path(sys.executable).parent / "eagleray"
# Opens a model at once, and answers nothing else.
STUB = """
import json, sys
for line in sys.stdin:
    if json.loads(line)["do"] == "open":
        print(json.dumps({"dtype": "float32", "model": "stub"}), flush=True)
"""


def interpreter(folder: Path, program: str) -> str:
    """An interpreter that runs `program` instead of what it gets."""
    code = folder / "stub.py"
    code.write_text(program)
    file = folder / "python"
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{code}" "$@"\n')
    file.chmod(0o700)
    return str(file)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("raise SystemExit(3)", "it ended with 3"),
        ("print('not JSON', flush=True); input()", "Expecting value"),
        ('print(\'{"error": "MemoryError: 80 GB"}\', flush=True); input()', "MemoryError: 80 GB"),
    ],
)
async def test_failure_of_the_process_is_an_error(
    tmp_path: Path, program: str, message: str
) -> None:
    reference = TorchReference(TorchModel(tmp_path), interpreter(tmp_path, program))
    with pytest.raises(EaglerayError, match=message) as error:
        await reference.facts()
    assert error.value.code == "reference-failed"
    await reference.close()


async def test_missing_folder_torch_or_interpreter_is_an_error(tmp_path: Path) -> None:
    for model, python, message in (
        (tmp_path / "missing", sys.executable, "is not a folder"),
        # The tests' own interpreter has no torch.
        (tmp_path, sys.executable, "ModuleNotFoundError: No module named 'torch'"),
        (tmp_path, str(tmp_path / "python"), "No such file"),
    ):
        reference = TorchReference(TorchModel(model), python)
        with pytest.raises(EaglerayError, match=message) as error:
            await reference.facts()
        assert error.value.code == "reference-failed"
        await reference.close()


def test_program_never_runs_code_that_lies_beside_a_model() -> None:
    source = PROGRAM.read_text()
    loads = source.count("from_pretrained(")
    assert (
        loads
        == source.count("trust_remote_code=False")
        == source.count("local_files_only=True")
        == 2
    )


def test_ctrl_c_ends_the_command_and_its_reference(tmp_path: Path, engine: Engine) -> None:
    data = tmp_path / "prompts.jsonl"
    data.write_text(json.dumps({"prompt": "def main("}) + "\n")
    command = [str(COMMAND), "rollouts", "compare", engine.url, f"torch:{tmp_path}"]
    command += ["--data", str(data), "--python", interpreter(tmp_path, STUB)]
    env = {**os.environ, "OPENAI_API_KEY": engine.key, "EAGLERAY_HOME": str(tmp_path / "home")}
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    with process:
        assert any(line.startswith("Comparing prompts") for line in process.stderr)
        children = psutil.Process(process.pid).children(recursive=True)
        assert any(str(PROGRAM) in child.cmdline() for child in children)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert not psutil.wait_procs(children, timeout=10)[1]
