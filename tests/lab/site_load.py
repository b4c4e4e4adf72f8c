"""The requests of Eagleray to a SLURM site, counted on the login node of the lab: `python -m tests.lab.site_load`.

Wrappers of SLURM's commands count on the login node, sshd's log has its sessions, and the number of the last process
tells how many processes were started; the processes of an idle site are subtracted.  Each situation is measured after a
warm-up, in which the user still waits for something, and extrapolated to an hour.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from tests.lab.eagleray import Eagleray, eagleray_on
from tests.lab.hosts import SLURM_NODES
from tests.lab.ray import end_ray
from tests.lab.site import Site
from tests.lab.slurm import Job, submitted
from tests.sidecar.stdio_client import StdioClient

COMMANDS = ("squeue", "scontrol", "srun", "sbatch")
SESSIONS, PROCESSES = "ssh sessions", "processes"
COLUMNS = (*COMMANDS, SESSIONS, PROCESSES)
LOG = "/var/tmp/site-load"
WRAPPER = '#!/bin/sh\necho {name} >> {log}\nexec /usr/bin/{name} "$@"\n'
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=1\nwhile sleep 5; do date; done\n"

Count = Counter[str]


class Load:
    """Counts on the login node; `measured` is for so many seconds, after the warm-up."""

    def __init__(self, site: Site, warm_up_s: float, seconds: float) -> None:
        self._site = site
        self._warm_up_s = warm_up_s
        self._seconds = seconds
        self._idle = Count()
        self._log = site.path("login", LOG)
        self._log.touch()
        self._log.chmod(0o666)
        for name in COMMANDS:
            wrapper = site.path("login", f"/usr/local/bin/{name}")
            wrapper.write_text(WRAPPER.format(name=name, log=LOG))
            wrapper.chmod(0o755)

    async def idle(self) -> None:
        """Measures what the site itself does."""
        self._idle = await self._difference()

    async def measured(self) -> dict[str, int]:
        """The counts of one hour."""
        await asyncio.sleep(self._warm_up_s)
        found = await self._difference()
        return {
            name: round(max(0, found[name] - self._idle[name]) * 3600 / self._seconds)
            for name in COLUMNS
        }

    async def _difference(self) -> Count:
        before = self._now()
        await asyncio.sleep(self._seconds)
        return Counter({name: count - before[name] for name, count in self._now().items()})

    def _now(self) -> Count:
        count = Counter(self._log.read_text().split())
        sshd = self._site.path("login", "/var/log/sshd.log").read_text(errors="replace")
        count[SESSIONS] = sshd.count("Starting session:")
        # Asking takes one process itself.
        said = self._site.run_as("login", "root", ["cat", "/proc/loadavg"]).stdout
        count[PROCESSES] = int(said.split()[-1])
        return count


@contextlib.asynccontextmanager
async def window(laptop: Eagleray, *, visible: bool) -> AsyncIterator[StdioClient]:
    async with laptop.sidecar() as client:
        await client.initialize()
        await client.result("eagleray/workers/watch", {"visible": visible})
        yield client


async def connected(client: StdioClient, job: Job) -> None:
    await client.result("eagleray/clusters/add", {"address": f"ssh://login/slurm://{job.id}"})


async def with_ray(load: Load, site: Site, laptop: Eagleray) -> AsyncIterator[tuple[str, Any]]:
    """The situations of a job with Ray in it, whose Ray is gone at last."""
    with submitted(site) as job:
        await asyncio.to_thread(job.wait_ray)
        async with window(laptop, visible=True) as client:
            await connected(client, job)
            yield "idle window with a connected job", await load.measured()
            await client.result("eagleray/workers/watch", {"visible": False})
            yield "window in the background", await load.measured()
            await client.result("eagleray/workers/watch", {"visible": True})
            for node in SLURM_NODES:
                await asyncio.to_thread(end_ray, site, node)
            yield "added job whose Ray is gone", await load.measured()
            await client.result(
                "eagleray/clusters/remove", {"cluster": f"ssh://login/slurm://{job.id}"}
            )
            await client.end()


async def pending(load: Load, site: Site, laptop: Eagleray) -> AsyncIterator[tuple[str, Any]]:
    with submitted(site, "sleep", "1", begin="now+2hours") as job:
        async with window(laptop, visible=True) as client:
            adding = asyncio.create_task(connected(client, job))
            yield "pending job that is waited for", await load.measured()
            adding.cancel()
            await asyncio.gather(adding, return_exceptions=True)


async def batch(load: Load, site: Site, laptop: Eagleray) -> AsyncIterator[tuple[str, Any]]:
    site.run_as("login", "alice", ["tee", "load.sub"], stdin=SCRIPT)
    words = ("--yes", "--detach", "--cluster", "ssh://login", "--", "sbatch", "load.sub")
    started = laptop.run("run", *words)
    assert started.returncode == 0, started.stderr
    run = started.stdout.strip()
    try:
        yield "running sbatch run", await load.measured()
    finally:
        laptop.run("runs", "stop", run, "--yes")


async def table(warm_up_s: float, seconds: float, only: str) -> dict[str, Any]:
    site = Site()
    site.start()
    rows: dict[str, Any] = {}
    kinds: list[Callable[..., AsyncIterator[tuple[str, Any]]]] = [pending, batch, with_ray]
    try:
        load = Load(site, warm_up_s, seconds)
        await load.idle()
        for kind in kinds:
            if only and only != kind.__name__:
                continue
            with eagleray_on(site, "laptop") as laptop:
                async for name, counted in kind(load, site, laptop):
                    rows[name] = counted
                    print(json.dumps({name: counted}), flush=True)
    finally:
        site.end()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warm-up", type=float, default=130.0)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    began = time.monotonic()
    rows = asyncio.run(table(options.warm_up, options.seconds, options.only))
    print("| Situation | " + " | ".join(COLUMNS) + " |")
    print("| --- |" + " --- |" * len(COLUMNS))
    for name, counted in rows.items():
        print(f"| {name} | " + " | ".join(str(counted[column]) for column in COLUMNS) + " |")
    print(f"measured in {time.monotonic() - began:.0f} s")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
