"""A site for an editor of this machine: `python -m tests.lab.editor` says what it needs and ends with its stdin.

The editor's ssh begins in the network of the laptop.  It knows the login nodes by name, has met none of them, and
has alice's key for the first, which wants a passphrase, and for the other one a fake security key, which wants to be
touched.  In the site runs a job with Ray in it and a paused worker on each node; another one is to begin later.
Each line on stdin is answered by one line: `cut HOST silent|down|up` for that host's link, `limit MINUTES` for what
is left to the job, `touch` for the security key, `release` for the rank that hangs, whose program then ends.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.fakes.security_key import SecurityKey
from tests.lab.hosts import LOGINS
from tests.lab.ray import PROGRAMS
from tests.lab.site import Cut, NoSite, Site
from tests.lab.slurm import submitted
from tests.ray_cluster import wait_for

PASSPHRASE = "correct horse battery"
# In a home, which all hosts of the site share.
PARTNER = "/home/alice/partner"
CUTS: tuple[Cut, ...] = ("silent", "down", "up")
CONFIG = """\
Host login
  IdentityFile {folder}/id_ed25519
Host login2
  IdentityFile {folder}/hardware/key
Host {names}
  User alice
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
"""


def main() -> None:
    site = Site()
    try:
        site.start()
        folder, key = _person(site)
        with (
            submitted(site, name="train-policy", limit="1:30:00") as job,
            submitted(site, "sleep", "3000", name="evaluate", begin="now+2hours") as pending,
        ):
            begun = time.monotonic()
            job.wait_ray()
            pending.wait_state("PENDING")
            job.ray.run("pausing.py")
            hanging = job.ray.run("hanging.py", PARTNER)
            job.ray.wait_paused(len(job.ray.nodes))
            wait_for("the rank that hangs", lambda: "hangs" in hanging.output())
            _say(
                ssh=str(folder / "ssh"),
                home=str(folder),
                passphrase=PASSPHRASE,
                job=job.id,
                program=str(PROGRAMS / "pausing.py"),
            )
            for line in sys.stdin:
                match line.split():
                    case ["cut", host, how]:
                        site.cut(host, CUTS[CUTS.index(how)])
                    case ["limit", minutes]:
                        limit = int(minutes) + int(time.monotonic() - begun) // 60
                        job.control("update", f"jobid={job.id}", f"TimeLimit={limit}")
                    case ["touch"]:
                        key.touch()
                    case ["release"]:
                        site.path(job.ray.head, PARTNER).touch()
                        wait_for("its end", lambda: "went on with 16" in hanging.output())
                _say(done=line.strip())
    except NoSite as error:
        _say(none=str(error))
    finally:
        site.end()


def _person(site: Site) -> tuple[Path, SecurityKey]:
    """A home for whoever uses the editor; OpenSSH itself never looks at HOME, so its files are named to it."""
    folder = site.folder / "editor"
    (folder / ".ssh").mkdir(parents=True)
    key = folder / "id_ed25519"
    shutil.copy(site.folder / "keys" / "alice", key)
    key.chmod(0o600)
    words = ["ssh-keygen", "-q", "-p", "-P", "", "-N", PASSPHRASE, "-f", str(key)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    (folder / "hardware").mkdir()
    hardware = SecurityKey(folder / "hardware")
    with site.path("login", "/home/alice/.ssh/authorized_keys").open("a") as authorized:
        authorized.write(hardware.public)
    config = "".join(
        f"Host {name}\n  HostName {outside}\n" for name, (_, outside) in LOGINS.items()
    )
    config += CONFIG.format(names=" ".join(LOGINS), folder=folder)
    (folder / ".ssh" / "config").write_text(config)
    ssh = folder / "ssh"
    net = f"nsenter --net=/proc/{site.pids['laptop']}/ns/net"
    ssh.write_text(
        f'#!/bin/sh\n{hardware.environment}\nexec {net} ssh -F {folder}/.ssh/config "$@"\n'
    )
    ssh.chmod(0o755)
    return folder, hardware


def _say(**said: str) -> None:
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
