"""The files for the hosts of a site before they start: keys, users, names, ssh and SLURM configuration."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.lab.hosts import ALICE, BOB, LOGINS, SLURM_NODES, Host, node_address

# Logins come through PAM, so that a test can have a one-time code asked for; by itself PAM asks nothing here.
SSHD = """\
Port 22
HostKey /etc/ssh/lab_host_key
PidFile /run/sshd.pid
PermitRootLogin no
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM yes
PrintMotd no
UseDNS no
LogLevel VERBOSE
"""
PAM_SSHD = """\
auth required pam_exec.so quiet expose_authtok /etc/lab_code
auth required pam_permit.so
account required pam_permit.so
session required pam_permit.so
"""
LAPTOP_SSH = """\
Host node-*
  ProxyJump login
Host *
  User alice
"""
SLURM = """\
ClusterName=lab
SlurmctldHost=login(10.77.0.1)
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=cred_expire=10
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
StateSaveLocation=/var/lib/slurm
SlurmdSpoolDir=/var/spool
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmdTimeout=60
KillWait=2
MinJobAge=3600
"""


def write_site(site: Path, hosts: list[Host], binds: Iterable[Path]) -> None:
    """All files below `site`; each host finds its own in `hosts/<name>`."""
    (site / "run").mkdir()
    (site / "keys").mkdir(mode=0o700)
    munge = secrets.token_bytes(128)
    for host in hosts:
        _key(site / "keys" / host.name)
    _key(site / "keys" / "alice")
    known = _known_hosts(site, hosts)
    (site / "known_hosts").write_text(known)
    for host in hosts:
        own = site / "hosts" / host.name
        etc = own / "etc"
        (etc / "ssh").mkdir(parents=True)
        (own / "tmp").mkdir()
        (own / "tmp").chmod(0o1777)
        (own / "home").write_text(str(own / "laptop-home" if host.inside == "" else site / "home"))
        (own / "binds").write_text("".join(f"{folder}\n" for folder in binds))
        (own / "daemons").write_text(" ".join(host.daemons) + "\n")
        _write_etc(etc, site / "keys" / host.name, host, hosts, munge)
    _write_home(site / "home", site, known, "Host *\n  User alice\n")
    _write_home(site / "hosts" / "laptop" / "laptop-home", site, known, LAPTOP_SSH)


def outside_config(site: Path) -> str:
    """The laptop's ssh config for a program that has only its network, and neither its files nor its names."""
    logins = "".join(
        f"Host {name}\n  HostName {outside}\n  HostKeyAlias {name}\n"
        for name, (_, outside) in LOGINS.items()
    )
    mine = f"  IdentityFile {site}/keys/alice\n  UserKnownHostsFile {site}/known_hosts\n"
    return logins + LAPTOP_SSH + mine


def _key(file: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", file.name, "-f", str(file)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def _known_hosts(site: Path, hosts: list[Host]) -> str:
    lines = []
    for host in hosts:
        kind, key, _ = (site / "keys" / f"{host.name}.pub").read_text().split()
        names = ",".join(name for name in (host.name, host.inside, host.outside) if name)
        lines.append(f"{names} {kind} {key}\n")
    return "".join(lines)


def _write_etc(etc: Path, key: Path, host: Host, hosts: list[Host], munge: bytes) -> None:
    for name in ("passwd", "group", "shadow"):
        (etc / name).write_text(_with_people(name))
    (etc / "shadow").chmod(0o600)
    (etc / "hostname").write_text(f"{host.name}\n")
    (etc / "hosts").write_text(_names(host, hosts))
    shutil.copy2(key, etc / "ssh" / "lab_host_key")
    (etc / "ssh" / "lab_config").write_text(SSHD)
    (etc / "pam.d").mkdir()
    (etc / "pam.d" / "sshd").write_text(PAM_SSHD)
    (etc / "munge").mkdir()
    (etc / "munge" / "munge.key").write_bytes(munge)
    (etc / "munge" / "munge.key").chmod(0o400)
    (etc / "slurm").mkdir()
    (etc / "slurm" / "slurm.conf").write_text(SLURM + _slurm_nodes())
    (etc / "slurm" / "cgroup.conf").write_text(_without_cgroups())


def _without_cgroups() -> str:
    """Returns the settings that let this slurmd do without control groups; older ones want an empty folder in their
    place.
    """
    said = subprocess.run(["/usr/sbin/slurmd", "-V"], check=True, capture_output=True, text=True)
    major = int(said.stdout.split()[-1].partition(".")[0])
    return (
        "CgroupPlugin=disabled\n" if major >= 24 else "CgroupAutomount=no\nCgroupPlugin=cgroup/v1\n"
    )


def _with_people(name: str) -> str:
    lines = Path("/etc", name).read_text().splitlines(keepends=True)
    text = "".join(line for line in lines if line.split(":")[0] not in ("alice", "bob"))
    for person, uid in (("alice", ALICE), ("bob", BOB)):
        text += {
            "passwd": f"{person}:x:{uid}:{uid}::/home/{person}:/bin/bash\n",
            "group": f"{person}:x:{uid}:\n",
            "shadow": f"{person}:*:19000:0:99999:7:::\n",
        }[name]
    return text


def _names(host: Host, hosts: list[Host]) -> str:
    """The laptop knows only what is reachable from it; the cluster's hosts know one another."""
    lines = ["127.0.0.1 localhost"]
    for other in hosts:
        address = other.inside if host.inside else other.outside
        if address:
            lines.append(f"{address} {other.name}")
    return "\n".join(lines) + "\n"


def _slurm_nodes() -> str:
    lines = [
        f"NodeName={name} NodeAddr={node_address(name)} CPUs=8 RealMemory=16000 State=UNKNOWN\n"
        for name in SLURM_NODES
    ]
    return "".join(lines) + (
        f"PartitionName=batch Nodes={','.join(SLURM_NODES)} Default=YES MaxTime=INFINITE State=UP\n"
    )


def _write_home(homes: Path, site: Path, known: str, config: str) -> None:
    homes.mkdir(parents=True)
    for person, uid in (("alice", ALICE), ("bob", BOB)):
        folder = homes / person
        folder.mkdir(mode=0o755)
        if person == "alice":
            ssh = folder / ".ssh"
            ssh.mkdir(mode=0o700)
            shutil.copy2(site / "keys" / "alice", ssh / "id_ed25519")
            shutil.copy2(site / "keys" / "alice.pub", ssh / "id_ed25519.pub")
            shutil.copy2(site / "keys" / "alice.pub", ssh / "authorized_keys")
            (ssh / "known_hosts").write_text(known)
            (ssh / "config").write_text(config)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, uid, uid)
