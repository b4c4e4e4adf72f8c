"""A site for an editor of this machine: `python -m tests.lab.editor` says what it needs and ends with its stdin.

The editor's ssh begins in the network of the laptop.  It knows the login nodes by name, has met none of them, and
has alice's key, which wants a passphrase.  In the site runs a job with Ray in it and a paused worker on each node;
another one is to begin later.
Each line on stdin is answered by one line: `cut HOST silent|down|up` is for that host's link.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.lab.hosts import LOGINS
from tests.lab.ray import PROGRAMS
from tests.lab.site import Cut, NoSite, Site
from tests.lab.slurm import submitted

PASSPHRASE = "correct horse battery"
CUTS: tuple[Cut, ...] = ("silent", "down", "up")
CONFIG = """\
Host {names}
  User alice
  IdentityFile {folder}/id_ed25519
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
"""


def main() -> None:
    site = Site()
    try:
        site.start()
        folder = _person(site)
        with (
            submitted(site, name="train-policy", limit="1:30:00") as job,
            submitted(site, "sleep", "3000", name="evaluate", begin="now+2hours") as pending,
        ):
            job.wait_ray()
            pending.wait_state("PENDING")
            job.ray.run("pausing.py")
            job.ray.wait_paused(len(job.ray.nodes))
            _say(
                ssh=str(folder / "ssh"),
                home=str(folder),
                passphrase=PASSPHRASE,
                job=job.id,
                program=str(PROGRAMS / "pausing.py"),
            )
            for line in sys.stdin:
                _, host, how = line.split()
                site.cut(host, CUTS[CUTS.index(how)])
                _say(done=line.strip())
    except NoSite as error:
        _say(none=str(error))
    finally:
        site.end()


def _person(site: Site) -> Path:
    """A home for whoever uses the editor; OpenSSH itself never looks at HOME, so its files are named to it."""
    folder = site.folder / "editor"
    (folder / ".ssh").mkdir(parents=True)
    key = folder / "id_ed25519"
    shutil.copy(site.folder / "keys" / "alice", key)
    key.chmod(0o600)
    words = ["ssh-keygen", "-q", "-p", "-P", "", "-N", PASSPHRASE, "-f", str(key)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    config = "".join(
        f"Host {name}\n  HostName {outside}\n" for name, (_, outside) in LOGINS.items()
    )
    config += CONFIG.format(names=" ".join(LOGINS), folder=folder)
    (folder / ".ssh" / "config").write_text(config)
    ssh = folder / "ssh"
    net = f"nsenter --net=/proc/{site.pids['laptop']}/ns/net"
    ssh.write_text(f'#!/bin/sh\nexec {net} ssh -F {folder}/.ssh/config "$@"\n')
    ssh.chmod(0o755)
    return folder


def _say(**said: str) -> None:
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
