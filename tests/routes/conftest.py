"""A `srun` that runs its command here, named as such, and what the tests of routes are made of."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from eagleray.protocol.route_spec import RouteSpec
from eagleray.routes.routes import Routes
from eagleray.routes.srun.transport import SrunTransport
from eagleray.routes.transport import Transport

from tests.routes.ssh_fixtures import masters, short, sshd, started, wire

__all__ = ["masters", "short", "sshd", "started", "wire"]

FAKE_SRUN = """#!/bin/sh
# A fake srun: it says what FAKE_SRUN_SAYS has, or runs what follows its options on this machine.
echo "$*" >> "$FAKE_SRUN_LOG"
if [ -s "$FAKE_SRUN_SAYS" ]; then cat "$FAKE_SRUN_SAYS" >&2; exit 1; fi
echo "some profile greets its user"
while [ $# -gt 0 ]; do
  case "$1" in
    --jobid|--nodelist) shift 2 ;;
    --*) shift ;;
    *) break ;;
  esac
done
shift
exec "$FAKE_SRUN_PYTHON" "$@"
"""


class FakeSrun:
    """`says` makes it fail with these words; `calls` are the arguments of each run."""

    def __init__(self, folder: Path) -> None:
        self._says = folder / "says"
        self._log = folder / "log"
        self.environment = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "FAKE_SRUN_SAYS": str(self._says),
            "FAKE_SRUN_LOG": str(self._log),
            "FAKE_SRUN_PYTHON": sys.executable,
        }
        (folder / "srun").write_text(FAKE_SRUN)
        (folder / "srun").chmod(0o755)

    def says(self, words: str) -> None:
        self._says.write_text(words)

    @property
    def calls(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def srun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSrun:
    fake = FakeSrun(folder)
    for name, value in fake.environment.items():
        monkeypatch.setenv(name, value)
    return fake


def by_srun(spec: RouteSpec, changed: Callable[[], None], base: Transport) -> SrunTransport:
    """Makes the only carriers that these tests need."""
    return SrunTransport(spec, changed, base)


@pytest.fixture
async def routes() -> AsyncIterator[Routes]:
    made = Routes(by_srun)
    yield made
    await made.close()
