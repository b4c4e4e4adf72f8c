"""The site itself is as the other tests believe."""

from __future__ import annotations

import pytest

from tests.lab.site import Site
from tests.lab.sshd import (
    CODE,
    no_sshd,
    one_time_code,
    other_host_key,
    passphrase,
    refused_key,
    sshd,
    unknown_hosts,
)

SSH = ["ssh", "-o", "BatchMode=yes"]


def said(site: Site, *words: str) -> str:
    """Returns the message of a failing ssh on the laptop."""
    done = site.run_as("laptop", "alice", [*SSH, *words], check=False)
    assert done.returncode == 255, done.stdout
    return done.stderr


def test_node_is_reached_through_the_login_node(site: Site) -> None:
    done = site.run_as("laptop", "alice", [*SSH, "node-2", "hostname; id -un"])
    assert done.stdout.split() == ["node-2", "alice"]


def test_both_logins_share_a_home(site: Site) -> None:
    site.run_as("login", "alice", ["sh", "-c", "echo here > note"])
    assert site.run_as("laptop", "alice", [*SSH, "login2", "cat note"]).stdout == "here\n"


def test_slurm_runs_a_job(site: Site) -> None:
    done = site.run_as("login", "alice", ["timeout", "50", "srun", "-N2", "hostname"])
    assert sorted(done.stdout.split()) == ["node-10", "node-9"]


def test_nothing_else_can_be_reached(site: Site) -> None:
    assert site.run_as("login", "root", ["ip", "route", "show", "default"]).stdout == ""


@pytest.mark.parametrize("how", ["silent", "down"])
def test_cut_link_times_out_and_can_be_restored(site: Site, how: str) -> None:
    with site.cut_off("laptop", "silent" if how == "silent" else "down"):
        assert "timed out" in said(site, "-o", "ConnectTimeout=1", "login", "true")
    assert site.run_as("laptop", "alice", [*SSH, "login", "hostname"]).stdout == "login\n"


def test_refusals_of_ssh_have_their_real_messages(site: Site) -> None:
    with refused_key(site):
        assert "Permission denied" in said(site, "login", "true")
    with unknown_hosts(site):
        assert "Host key verification failed" in said(site, "login", "true")
    with other_host_key(site, "login"):
        assert "IDENTIFICATION HAS CHANGED" in said(site, "login", "true")
    with no_sshd(site, "node-1"):
        assert "Connection refused" in said(site, "node-1", "true")
    with sshd(site, "login", AllowTcpForwarding="no"):
        assert "administratively prohibited" in said(site, "-W", "node-1:22", "login")
    with passphrase(site, "secret words"):
        assert "Permission denied" in said(site, "login", "true")
    with one_time_code(site, "login"):
        assert "Permission denied (keyboard-interactive)" in said(site, "login", "true")
    assert site.run_as("laptop", "alice", [*SSH, "node-1", "hostname"]).stdout == "node-1\n"


def test_single_use_code_opens_the_login_node(site: Site) -> None:
    """With a helper that answers as a person would."""
    helper = site.path("laptop", "/home/alice/answer")
    helper.write_text(f"#!/bin/sh\necho {CODE}\n")
    helper.chmod(0o755)
    env = {"SSH_ASKPASS": "/home/alice/answer", "SSH_ASKPASS_REQUIRE": "force"}
    with one_time_code(site, "login"):
        done = site.run_as("laptop", "alice", ["ssh", "login", "hostname"], env)
    assert done.stdout == "login\n"
