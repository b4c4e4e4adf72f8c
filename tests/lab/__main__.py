"""A site by hand.

`python -m tests.lab [--ray]` keeps one up, with Ray on three nodes if wanted, until its stdin ends or Ctrl-C;
`python -m tests.lab HOST [-u USER] COMMAND…` runs something in it; `python -m tests.lab --cut HOST silent|down|up`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path

from tests.lab.hosts import RAY_NODES
from tests.lab.ray import start_ray
from tests.lab.site import Site

NOTE = Path("/tmp/er-lab.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--cut", nargs=2)
    parser.add_argument("host", nargs="?", default="")
    parser.add_argument("-u", "--user", default="alice")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.cut:
        kept().cut(*options.cut)
        return
    if options.host:
        enter(options.host, options.user, options.command or ["bash"])
    keep(with_ray=options.ray)


def keep(with_ray: bool) -> None:
    site = Site()
    site.start()
    try:
        NOTE.write_text(json.dumps({"folder": str(site.folder), "pids": site.pids}))
        print(f"The site is up; its files lie in {site.folder}.", flush=True)
        print(f"For a program of this machine, as eagleray.ssh.path: {site.ssh_from_here()}")
        with start_ray(site, RAY_NODES) if with_ray else contextlib.nullcontext():
            print("For example: python -m tests.lab laptop ssh node-1 hostname", flush=True)
            sys.stdin.read()
    except KeyboardInterrupt:
        pass
    finally:
        NOTE.unlink(missing_ok=True)
        site.end()


def kept() -> Site:
    return Site.of(json.loads(NOTE.read_text()))


def enter(host: str, user: str, command: list[str]) -> None:
    words = kept().argv(host, user, command, {"TERM": os.environ.get("TERM", "dumb")})
    os.execvp(words[0], words)


if __name__ == "__main__":
    main()
