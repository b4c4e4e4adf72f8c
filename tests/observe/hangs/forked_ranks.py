"""Worlds of four real ranks that hang, forked from one process which has imported torch."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from scripts.ray_cluster import free_ports
from tests.observe.hangs.ranks import PROGRAM, TORCH_PYTHON, WORLD, program_of, wait_until_ready

FORKING = PROGRAM.with_name("forked_ranks.py")


class RankForker:
    """Starts scenarios in folders below `folder`."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder

    @contextmanager
    def hanging(self, scenario: str) -> Iterator[list[int]]:
        """The pids of four ranks that hang in `scenario`."""
        folder = self._folder / scenario
        folder.mkdir()
        for rank in range(WORLD):
            (folder / f"{rank}.log").touch()
        [port] = free_ports(1)
        assert self._process.stdin and self._process.stdout
        request = {
            "program": str(program_of(scenario)),
            "scenario": scenario,
            "port": port,
            "folder": str(folder),
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        launcher, *ranks = json.loads(self._process.stdout.readline())
        try:
            wait_until_ready(folder)
            yield ranks
        finally:
            # A data loader that hangs doesn't notice that its rank has ended.
            parent = psutil.Process(launcher)
            for child in (*parent.children(recursive=True), parent):
                child.kill()


@contextmanager
def rank_forker(folder: Path) -> Iterator[RankForker]:
    with subprocess.Popen(
        [str(TORCH_PYTHON), str(FORKING)],
        # As in a run of Eagleray.
        env={**os.environ, "TORCH_FR_BUFFER_SIZE": "2000"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        yield RankForker(process, folder)
        assert process.stdin
        process.stdin.close()
