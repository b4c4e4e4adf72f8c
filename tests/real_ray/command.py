"""The `eagleray` command as a person runs it: a process, its JSON, its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.asked import ask
from tests.dap_client import DapClient
from tests.ray_cluster import REPOSITORY, wait_for

Row = dict[str, Any]


@dataclass(frozen=True)
class Command:
    """The command in one environment: one home, hence one adapter."""

    env: dict[str, str]
    cwd: Path = REPOSITORY

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(REPOSITORY / "pybackend/eagleray_start.py"), "cli", *arguments],
            env=self.env,
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def json(self, *arguments: str) -> Any:
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, f"eagleray {arguments} failed: {done.stderr}\n{done.stdout}"
        return json.loads(done.stdout)

    def paused(self) -> list[Row]:
        done = ask(self.env, "paused", "--json")
        assert done.returncode == 0, f"eagleray paused failed: {done.stderr}\n{done.stdout}"
        rows: list[Row] = json.loads(done.stdout)
        return rows

    def wait_row(self, name: str, **wanted: Any) -> Row:
        """The row of the worker that is called `name`, once it is there and has the values that are wanted."""
        said = ""

        def found() -> Row | None:
            # The dashboard of a busy machine refuses now and then; what it said last is shown in the end.
            nonlocal said
            done = ask(self.env, "paused", "--json")
            said = done.stdout + done.stderr
            rows: list[Row] = json.loads(done.stdout) if done.returncode == 0 else []
            for row in rows:
                if row["name"] == name and all(row.get(k) == v for k, v in wanted.items()):
                    return row
            return None

        try:
            row = wait_for(f"a row {name} {wanted}", found, every_s=0.4)
        except AssertionError as error:
            raise AssertionError(f"{error}; `eagleray paused` said {said}") from error
        assert row is not None
        return row

    def attach(self, worker: str) -> Row:
        attached: Row = self.json("attach", worker)
        return attached

    @contextmanager
    def editor(self, worker: str) -> Iterator[tuple[DapClient, Row]]:
        """A DAP client on the socket that `eagleray attach` prints, past configurationDone."""
        attached = self.attach(worker)
        client = DapClient.unix(attached["socket"])
        try:
            client.attach()
            yield client, attached
        finally:
            client.close()


def stand(client: DapClient) -> Row:
    """Waits for the next stop; returns the top frame, with the thread's id as `thread`."""
    thread = client.wait_for("stopped")["body"]["threadId"]
    top = client.stack(thread)[0]
    return {**top, "thread": thread, "file": top["source"].get("path", "")}


def line_of(program: Path, name: str) -> int:
    """The line that the comment `stands: NAME` marks."""
    for number, line in enumerate(program.read_text(encoding="utf-8").splitlines(), start=1):
        if line.endswith(f"# stands: {name}"):
            return number
    raise AssertionError(f"no line of {program} is marked {name}")
