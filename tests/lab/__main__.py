"""A site by hand: `python -m tests.lab [--ray]` keeps one up until Ctrl-C, `python -m tests.lab HOST [-u USER] COMMAND…` runs in it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from tests.lab.site import Site

NOTE = Path("/tmp/er-lab.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host", nargs="?", default="")
    parser.add_argument("-u", "--user", default="alice")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.host:
        enter(options.host, options.user, options.command or ["bash"])
    keep()


def keep() -> None:
    begun = time.monotonic()
    site = Site()
    site.start()
    try:
        NOTE.write_text(json.dumps({"folder": str(site.folder), "pids": site.pids}))
        print(f"up in {time.monotonic() - begun:.2f} s; its files lie in {site.folder}", flush=True)
        print("python -m tests.lab laptop ssh node-1 hostname", flush=True)
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        pass
    finally:
        NOTE.unlink(missing_ok=True)
        site.end()


def enter(host: str, user: str, command: list[str]) -> None:
    site = Site.of(json.loads(NOTE.read_text()))
    words = site.argv(host, user, command, {"TERM": os.environ.get("TERM", "dumb")})
    os.execvp(words[0], words)


if __name__ == "__main__":
    sys.exit(main())
