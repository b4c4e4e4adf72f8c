"""Fixtures: a running inference server, and the interpreter that has what it needs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import field, frozen

from tests.shared_clusters import CACHE

# With xllamacpp, openai, numpy and tokenizers.
ENGINE_PYTHON = os.environ.get("EAGLERAY_ENGINE_PYTHON", str(CACHE / "engine" / "bin" / "python"))
KEY = "sk-engine-of-tests"
_ROOT = Path(__file__).parents[2]
_LISTENS = re.compile(r"^listening on (http://\S+)$")


@frozen
class Engine:
    """A server of the tests' model: `address` without, `url` with `/v1`."""

    address: str
    pid: int
    key: str = field(default=KEY, repr=False)

    @property
    def url(self) -> str:
        return f"{self.address}/v1"


def engine_command(*arguments: str) -> list[str]:
    """Runs in the root of the repository; arguments as in `python -m tests.engine --help`."""
    return [ENGINE_PYTHON, "-m", "tests.engine", *arguments]


@contextmanager
def serving(*arguments: str, key: str = KEY) -> Iterator[Engine]:
    """Serves the model until the block ends."""
    process = subprocess.Popen(
        engine_command(*arguments),
        cwd=_ROOT,
        env={**os.environ, "LLAMA_API_KEY": key},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Engine(_address(process), process.pid, key)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    for line in process.stdout:
        listens = _LISTENS.match(line)
        if listens:
            return listens[1]
    raise AssertionError(f"the engine has exited with {process.wait()}")


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """One server for all tests; a test that ends or changes it starts its own by `serving`."""
    with serving() as engine:
        yield engine
