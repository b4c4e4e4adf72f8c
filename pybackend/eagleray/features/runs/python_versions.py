"""Which Python a program would run on here, and which one a cluster runs on."""

from __future__ import annotations

import re
from collections.abc import Callable

from eagleray.common.errors import EaglerayError
from eagleray.ray.dashboard import Dashboard
from eagleray.tools.commands import Commands

_ASK = "import sys; print('%d.%d' % sys.version_info[:2])"
_PYTHON = re.compile(r"python[0-9.]*")
ASK_S = 10.0


class PythonVersions:
    """Asks for minor versions ("3.11"); "" where none can be had, which is no reason to stop anybody."""

    def __init__(self, commands: Commands, dashboard: Callable[[str], Dashboard]) -> None:
        self._commands = commands
        self._dashboard = dashboard

    async def here(self, python: str) -> str:
        if not _PYTHON.fullmatch(python.rpartition("/")[2]):
            return ""
        try:
            ran = await self._commands.run("", [python, "-I", "-S", "-c", _ASK], "", ASK_S)
        except EaglerayError:
            return ""
        return ran.stdout.strip() if ran.code == 0 else ""

    async def there(self, cluster: str) -> str:
        try:
            return ".".join((await self._dashboard(cluster).python_version()).split(".")[:2])
        except EaglerayError:
            return ""
