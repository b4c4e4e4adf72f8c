"""The hosts of a site, their addresses and their people."""

from __future__ import annotations

from dataclasses import dataclass

ALICE = 5001
BOB = 5002  # A stranger on the same machines.
UIDS = {"root": 0, "alice": ALICE, "bob": BOB}

LOGINS = {"login": ("10.77.0.1", "10.66.0.1"), "login2": ("10.77.0.2", "10.66.0.3")}
LAPTOP = "10.66.0.2"
# A site whose strings sort otherwise than its numbers: of an allocation of node-9 and node-10 the head is node-10.
RAY_NODES = ("node-1", "node-2", "node-3")
SLURM_NODES = ("node-9", "node-10")
MORE_NODES = ("node-4", "node-5", "node-6")


@dataclass(frozen=True)
class Host:
    """`inside` is its address among the cluster's hosts, `outside` the one that the laptop reaches."""

    name: str
    inside: str
    outside: str
    daemons: tuple[str, ...]

    @property
    def plug(self) -> str:
        """As switch.sh wants it told."""
        return f"{self.name}={self.inside}" + (f",{self.outside}" if self.outside else "")


def node_address(name: str) -> str:
    return f"10.77.0.{10 + int(name.removeprefix('node-'))}"


def all_hosts() -> list[Host]:
    hosts = [Host("laptop", "", LAPTOP, ())]
    for name, (inside, outside) in LOGINS.items():
        control = ("munged", "slurmctld") if name == "login" else ("munged",)
        hosts.append(Host(name, inside, outside, ("sshd", *control)))
    for name in (*RAY_NODES, *MORE_NODES, *SLURM_NODES):
        slurm = ("munged", "slurmd") if name in SLURM_NODES else ()
        hosts.append(Host(name, node_address(name), "", ("sshd", *slurm)))
    return hosts
