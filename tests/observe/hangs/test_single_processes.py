"""Single processes that don't hang: the sentence says where they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from eagleray.observe.hangs.collecting import local
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan

POLLING = """
import time
def watch():
    print("ready", flush=True)
    while True:
        time.sleep(600)
watch()
"""

SCHEDULED = """
import sched
print("ready", flush=True)
calendar = sched.scheduler()
calendar.enter(3600, 1, print)
calendar.run()
"""


async def test_process_that_sleeps_is_shown_with_its_line(tmp_path: Path) -> None:
    program = tmp_path / "watch_checkpoints.py"
    program.write_text(POLLING)
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            picture = await local.take([process.pid], SamplingPlan(rounds=2, pause_s=0.1))
        finally:
            process.kill()
    verdict = picture.verdict
    assert (verdict.kind, verdict.sentence, verdict.next_step) == (
        "unknown",
        f"Process {process.pid} sleeps in a loop in watch (watch_checkpoints.py:6). "
        "No other thread runs code of the program.",
        "Look in the log whether a thread has failed.",
    )


async def test_process_that_sleeps_in_a_library_is_shown_to_sleep(tmp_path: Path) -> None:
    program = tmp_path / "nightly.py"
    program.write_text(SCHEDULED)
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            picture = await local.take([process.pid], SamplingPlan(rounds=2, pause_s=0.1))
        finally:
            process.kill()
    assert picture.verdict.sentence == f"Process {process.pid} sleeps in <module> (nightly.py:6)."
