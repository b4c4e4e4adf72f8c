"""The command `eagleray` of the editor's terminals: found through links, run by the editor's Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def launch(launcher: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [launcher, *arguments],
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )


def install(folder: Path) -> Path:
    """An extension folder whose start script says how it was run."""
    extension = folder / "with space ñ"
    (extension / "bin").mkdir(parents=True)
    (extension / "pybackend").mkdir()
    (extension / "bin/eagleray").write_bytes((ROOT / "bin/eagleray").read_bytes())
    (extension / "bin/eagleray").chmod(0o755)
    (extension / "pybackend/eagleray_start.py").write_text(
        "import sys; print(sys.executable, sys.flags.isolated, sys.flags.no_site, sys.argv[1:])"
    )
    return extension


def test_python_of_the_editor_runs_it_isolated(tmp_path: Path) -> None:
    extension = install(tmp_path)
    link = tmp_path / "eagleray"
    link.symlink_to(extension / "bin/eagleray")
    ran = launch(link, "paused", "--cluster", "a b", EAGLERAY_PYTHON=sys.executable)
    assert ran.stdout == f"{sys.executable} 1 0 ['cli', 'paused', '--cluster', 'a b']\n"


def test_installed_extension_ignores_site_packages(tmp_path: Path) -> None:
    extension = install(tmp_path)
    (extension / "_libs/any").mkdir(parents=True)
    ran = launch(extension / "bin/eagleray", "clusters", EAGLERAY_PYTHON=sys.executable)
    assert ran.stdout == f"{sys.executable} 1 1 ['cli', 'clusters']\n"


def test_missing_python_prints_the_next_step(tmp_path: Path) -> None:
    extension = install(tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("readlink", "dirname"):
        (tools / name).symlink_to(shutil.which(name) or name)
    ran = launch(extension / "bin/eagleray", "clusters", PATH=str(tools))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "EAGLERAY_PYTHON" in ran.stderr
