"""The errors of ssh: the part of the catalogue that tells why a host or something behind it is not reached."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable


def ssh_missing(program: str) -> EaglerayError:
    return EaglerayError(
        "ssh-missing",
        f"There is no program “{printable(program)}” on this machine.",
        "Install OpenSSH's client, or set `eagleray.ssh.path` to it.",
    )


def ssh_host_unknown(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-host-unknown",
        f"ssh does not know a host “{printable(host)}”.",
        "Check the name, the hosts in your ssh config, and whether a VPN is needed.",
        detail,
    )


def ssh_unreachable(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-unreachable",
        f"{printable(host)} cannot be reached by ssh: {printable(detail) or 'no answer'}.",
        "Check the network or the VPN; it is tried again by itself.",
        detail,
    )


def ssh_key_refused(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-key-refused",
        f"{printable(host)} lets you in with none of your keys.",
        f"See that `ssh {printable(host)}` works in a terminal; is your key in the agent, your ticket still valid?",
        detail,
    )


def ssh_answer_refused(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-answer-refused",
        f"{printable(host)} did not let you in with what you typed.",
        "Click to reconnect and try again.",
        detail,
    )


def ssh_asks(host: str, what: str = "something") -> EaglerayError:
    return EaglerayError(
        "ssh-asks",
        f"{printable(host)} asks for {what}.",
        "Click to reconnect.",
    )


def ssh_cancelled(host: str) -> EaglerayError:
    return EaglerayError(
        "ssh-cancelled",
        f"The question of ssh for {printable(host)} was not answered.",
        "Click to reconnect.",
    )


def ssh_host_key_not_accepted(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-host-key-not-accepted",
        f"The host key of {printable(host)} is not known here and was not accepted.",
        "Reconnect and compare the fingerprint, or run `ssh` to it once in a terminal.",
        detail,
    )


def ssh_host_key_changed(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-host-key-changed",
        f"The host key of {printable(host)} has changed: somebody may be listening in between.",
        "We stop here. Ask its administrators; if the change is right, remove the old key with `ssh-keygen -R`.",
        detail,
    )


def ssh_too_many_connections(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-too-many-connections",
        f"The ssh server of {printable(host)} closed the connection at once; it may have too many (MaxStartups).",
        "It is tried again by itself.",
        detail,
    )


def ssh_too_many_sessions(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-too-many-sessions",
        f"The ssh server of {printable(host)} allows no further session on this connection (MaxSessions).",
        "Close other sessions that share it, or ask its administrators.",
        detail,
    )


def ssh_forwarding_forbidden(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-forwarding-forbidden",
        f"The ssh server of {printable(host)} forbids connections through it (AllowTcpForwarding or PermitOpen in its sshd_config).",
        "Ask its administrators, or add the cluster by its SLURM job, which needs no forwarding.",
        detail,
    )


def ssh_path_too_long(path: str) -> EaglerayError:
    return EaglerayError(
        "ssh-path-too-long",
        f"The folder for the control sockets of ssh is too long: {printable(path)}.",
        "Set EAGLERAY_HOME to a folder with a short path.",
    )


def ssh_control_socket_taken(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-control-socket-taken",
        f"Another process took the control socket of the connection to {printable(host)}.",
        "It is tried again by itself.",
        detail,
    )


def ssh_bad_configuration(detail: str) -> EaglerayError:
    return EaglerayError(
        "ssh-bad-configuration",
        f"ssh does not accept its configuration: {printable(detail)}",
        "Correct your ssh config.",
        detail,
    )


def ssh_no_shell(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-no-shell",
        f"{printable(host)} lets you in but ends the session at once: {printable(detail) or 'it says nothing'}",
        "A connection needs a session in which `cat` can be run.",
        detail,
    )


def ssh_failed(host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ssh-failed",
        f"ssh to {printable(host)} failed: {printable(detail) or 'it says nothing'}",
        f"See whether `ssh {printable(host)}` works in a terminal.",
        detail,
    )


def ssh_slow(host: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "ssh-slow",
        f"There is no connection to {printable(host)} within {seconds:g} s.",
        "It is tried on by itself.",
    )


def ssh_lost(host: str) -> EaglerayError:
    return EaglerayError(
        "ssh-lost",
        f"The connection to {printable(host)} is lost.",
        "A new one is made by itself.",
    )


# --- what lies behind the host --------------------------------------------------------------


def far_port_refused(address: str, host: str) -> EaglerayError:
    return EaglerayError(
        "far-port-refused",
        f"Nothing listens at {printable(address)}, seen from {printable(host)}.",
        "What was there may have ended, or may listen on another address of its node.",
    )


def far_host_unknown(address: str, host: str) -> EaglerayError:
    return EaglerayError(
        "far-host-unknown",
        f"{printable(host)} does not know the host of {printable(address)}.",
        "Check the name as it is written on that machine.",
    )


def far_host_unreachable(address: str, host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "far-host-unreachable",
        f"{printable(address)} cannot be reached from {printable(host)}: {printable(detail) or 'no answer'}.",
        "The node may be down, or a firewall stands between the two.",
        detail,
    )


def far_slow(address: str, host: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "far-slow",
        f"{printable(host)} had no connection to {printable(address)} within {seconds:g} s.",
        "The node may be down, or a firewall stands between the two.",
    )


def far_refused(address: str, host: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "far-refused",
        f"{printable(address)} was not reached through {printable(host)}: {printable(detail) or 'the ssh server refused'}.",
        "The log of the ssh server says why.",
        detail,
    )
