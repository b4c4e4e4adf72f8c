"""The packed .vsix files, and an editor's extensions folder with the one for this machine in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def vsix_files() -> dict[str, Path]:
    """The files by target; packed here unless the test runner has just done so."""
    if os.environ.get("EAGLERAY_PACKED") != "1":
        subprocess.run(["node", "scripts/package.mjs"], cwd=ROOT, check=True)
    version = json.loads((ROOT / "package.json").read_text())["version"]
    targets = ("linux-x64", "linux-arm64")
    return {target: ROOT / "out" / f"eagleray-{version}-{target}.vsix" for target in targets}


@pytest.fixture(scope="session")
def extension(vsix_files: dict[str, Path]) -> Iterator[Path]:
    """The folder of the extension as the editor has installed it, offline."""
    with tempfile.TemporaryDirectory(prefix="er-", dir="/tmp") as folder:
        script = Path(__file__).with_name("install_offline.mjs")
        done = subprocess.run(
            ["node", str(script), str(vsix_files["linux-x64"]), folder],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        yield Path(done.stdout.strip())


def working_pythons() -> list[str]:
    """Every Python from 3.10 to 3.14 that is here and starts, each version once."""
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    names = [f"python3.{minor}" for minor in range(10, 15)]
    names += sorted(str(python) for python in root.glob("versions/3.1[0-4].*/bin/python3"))
    found = {}
    for name in [sys.executable, *names]:
        try:
            said = subprocess.run(
                [
                    name,
                    "-I",
                    "-S",
                    "-c",
                    "import sys; print('3.%d' % sys.version_info[1], sys.executable)",
                ],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
        except (OSError, subprocess.CalledProcessError):
            continue
        found.setdefault(said[0], said[1])
    return [found[version] for version in sorted(found)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "python" in metafunc.fixturenames:
        metafunc.parametrize(
            "python", working_pythons(), ids=lambda path: Path(path).resolve().name
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says which Pythons the .vsix was tried with, since only those can be that are on this machine."""
    passed = terminalreporter.stats.get("passed", [])
    if any("tests/packaging/" in report.nodeid for report in passed):
        terminalreporter.write_line("Pythons: " + ", ".join(working_pythons()))
