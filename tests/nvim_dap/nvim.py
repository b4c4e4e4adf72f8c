"""Starts Neovim with nvim-dap and the configuration of docs/dap-clients.md, for one scenario of session.lua."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "dap-clients.md"
LIMIT_S = 200.0

Seen = dict[str, Any]


@dataclass(frozen=True)
class Nvim:
    """`folder` gets what Neovim writes, and a `bin` in front of the PATH."""

    folder: Path

    def session(self, scenario: str, file: Path, env: dict[str, str] | None = None) -> Seen:
        """The output that the scenario's user saw."""
        done = self.start(scenario, file, env)
        assert done.returncode == 0, done.stdout + done.stderr
        seen: Seen = json.loads(done.stdout.splitlines()[-1])
        return seen

    def start(
        self, scenario: str, file: Path, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        config = self.folder / "config.lua"
        config.write_text(documented_config())
        plugin = f"set runtimepath^={os.environ['EAGLERAY_NVIM_DAP']}"
        script = ["-l", str(HERE / "session.lua"), scenario, str(config), str(file)]
        return subprocess.run(
            [os.environ["EAGLERAY_NVIM"], "--clean", "--headless", "--cmd", plugin, *script],
            env=self._env(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def command_prints(self, **outputs: Any) -> None:
        """An `eagleray` on the PATH that prints these objects, each for the command of its name."""
        cases = [f"{name}) echo '{json.dumps(output)}';;" for name, output in outputs.items()]
        self._script("eagleray", f"case $1 in {' '.join(cases)} esac")

    def command_is(self, *arguments: str) -> None:
        """An `eagleray` on the PATH that runs this program with its arguments."""
        words = " ".join(f"'{word}'" for word in arguments)
        self._script("eagleray", f'exec {words} "$@"')

    def _script(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)

    def _env(self, env: dict[str, str]) -> dict[str, str]:
        own = {
            f"XDG_{name}_HOME": str(self.folder / "xdg")
            for name in ("CONFIG", "DATA", "STATE", "CACHE")
        }
        merged = {**os.environ, **own, **env}
        return {**merged, "PATH": f"{self.folder / 'bin'}:{merged['PATH']}"}


def documented_config() -> str:
    """The Lua that docs/dap-clients.md gives to users of nvim-dap."""
    return DOCUMENT.read_text().split("```lua\n")[1].split("```")[0]
