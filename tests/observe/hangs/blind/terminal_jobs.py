"""The session leader of a terminal that starts ranks as background jobs, as a shell does with `&`."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    plan = json.loads(sys.stdin.readline())
    # The first terminal that a session leader opens becomes its own.
    terminal = os.open(plan["terminal"], os.O_RDWR)
    jobs = {}
    for rank, (command, env) in plan["ranks"].items():
        with Path(plan["folder"], f"rank{rank}.log").open("wb") as output:
            jobs[rank] = subprocess.Popen(
                command,
                env=env,
                cwd=plan["folder"],
                stdin=terminal,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
    print(json.dumps({rank: job.pid for rank, job in jobs.items()}), flush=True)
    while True:
        time.sleep(1)
        for job in jobs.values():
            job.poll()


if __name__ == "__main__":
    main()
