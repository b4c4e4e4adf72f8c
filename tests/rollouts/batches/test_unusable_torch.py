"""A Python whose torch is missing, broken, or crashes: the error that it printed is the message."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.asked import eagleray
from tests.rollouts.trajectories.dumps import nemo, write

CHAIN = """
try:
    raise OSError("libcublas.so.12: cannot open shared object file")
except OSError as error:
    raise RuntimeError("torch is not installed correctly") from error
"""


def interpreter(folder: Path, torch: str | None) -> str:
    """A Python that has a package `torch` of this text."""
    packages = folder / "packages"
    packages.mkdir()
    if torch is not None:
        (packages / "torch.py").write_text(torch)
    file = folder / "python"
    file.write_text(f'#!/bin/sh\nPYTHONPATH={packages} exec "{sys.executable}" "$@"\n')
    file.chmod(0o700)
    return str(file)


@pytest.mark.parametrize(
    ("torch", "message", "step", "printed"),
    [
        (None, "{python} has no torch.", "Name the Python of your training with --python.", False),
        (
            "import nvidia_of_nobody",
            "{python} can't import torch: ModuleNotFoundError: No module named 'nvidia_of_nobody'",
            "Repair this environment, or select another Python.",
            False,
        ),
        (
            CHAIN,
            "{python} can't import torch: RuntimeError: torch is not installed correctly",
            "Repair this environment, or select another Python.",
            False,
        ),
        (
            f"import sys\ndef fails(*_, **__):{CHAIN.replace(chr(10), chr(10) + '    ')}\n"
            "__version__ = '2.6.0'\nload = save = tensor = arange = fails\nint32 = 0",
            "{python} ended with exit code 1.",
            "Repair this environment, or select another Python.",
            True,
        ),
        (
            "import os; os._exit(3)",
            "{python} ended with exit code 3.",
            "Repair this environment, or select another Python.",
            False,
        ),
    ],
)
async def test_what_is_wrong_with_torch_is_the_message(
    tmp_path: Path, own_home: Path, torch: str | None, message: str, step: str, printed: bool
) -> None:
    python = interpreter(tmp_path, torch)
    dump = write(tmp_path / "train_data_step1.jsonl", [nemo(0)])
    batch = tmp_path / "batch.pt"
    done = await eagleray("rollouts", "batch", str(dump), "--save", str(batch), "--python", python)
    assert done.code == 1
    lines = done.err.splitlines()
    assert lines[0].startswith(f"eagleray: {message.format(python=python)}")
    assert step in lines
    # The error that it printed comes below.
    assert lines[2:] == (["  RuntimeError: torch is not installed correctly"] if printed else [])
    assert not batch.exists()


async def test_output_of_torch_is_not_part_of_the_answer(tmp_path: Path, own_home: Path) -> None:
    python = interpreter(tmp_path, "print('welcome to torch'); import nvidia_of_nobody")
    dump = write(tmp_path / "train_data_step1.jsonl", [nemo(0)])
    batch = str(tmp_path / "batch.pt")
    done = await eagleray("rollouts", "batch", str(dump), "--save", batch, "--python", python)
    assert "can't import torch: ModuleNotFoundError" in done.err
