"""Processes that a debugged worker starts are debugged in conversations of their own."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.adapter.harness import PYTHONS, until
from tests.injected.runs import ProxyTestClient, Run, RunDebugging, breakpoints, line_of

FAMILY = Path(__file__).parent / "programs" / "family.py"


@pytest.mark.parametrize("python", PYTHONS)
def test_spawned_child_of_a_debugged_process_stops_and_continues(
    tmp_path: Path, python: str
) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(FAMILY, "work"), children=True)
    line = line_of(FAMILY, "work")
    with subprocess.Popen(
        [python, str(FAMILY), "spawn"],
        env={**os.environ, **run.env()},
        stdout=subprocess.PIPE,
        # Some versions of Python say at their end that debugpy has ended before them.
        stderr=subprocess.DEVNULL,
        text=True,
    ) as program:
        try:
            file = run.wait_proxy_file()
            with closing(ProxyTestClient(file["host"], file["port"])) as proxy:
                parent = RunDebugging(proxy, run).client
                children = {}
                # One tracks the resources of the other.
                for _ in range(2):
                    pid = parent.wait_for("debugpyAttach")["body"]["subProcessId"]
                    children[pid] = proxy.debug(pid)
                    children[pid].attach(
                        breakpoints={str(FAMILY): [line]}, subProcessId=pid, justMyCode=False
                    )
                pid, child = until(
                    lambda: next(
                        (child for child in children.items() if child[1].events("stopped")), None
                    ),
                    "a child stops",
                )
                thread = child.wait_for("stopped")["body"]["threadId"]
                frame = child.stack(thread)[0]
                assert (frame["name"], frame["line"]) == ("work", line)
                assert child.evaluate("__import__('os').getpid()", frame["id"]) == str(pid)
                child.request("continue", threadId=thread)
                assert program.communicate(timeout=60)[0] == "child 5\n"
        finally:
            program.kill()
