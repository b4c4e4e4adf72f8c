"""Parsers of what users and login nodes say: ssh config, messages of ssh and srun, addresses, access, mounts, /proc."""

from __future__ import annotations

import posixpath
from typing import Any

from eagleray.clusters.addresses import host_and_port, normalised, parse_address
from eagleray.clusters.credentials import belongs_to_other_user, stored_access
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.paths import is_network_folder
from eagleray.debug.source_mapping import worker_paths
from eagleray.debug.source_mapping.mounts import mounted_files, table
from eagleray.debug.workers.stop_location import stop_in_dump
from eagleray.protocol.adapter_control import Mounts, PathMapping
from eagleray.protocol.route_spec import RouteSpec, host_of
from eagleray.remote.injected.nsys.installations import is_newer, parse_version
from eagleray.routes.srun import stderr
from eagleray.routes.ssh.errors import StderrLines, forward_error
from eagleray.tools.nsys import _reason
from eagleray.tools.processes import of_table
from eagleray.tools.pyspy import parse_json, parse_text
from eagleray.tools.ssh_config import configured_hosts

from tests.fuzz.target import Target
from tests.fuzz.targets.cluster import TESTS
from tests.fuzz.targets.scratch import folder, written

TRACES = sorted((TESTS / "debug" / "workers" / "recorded").glob("trace-*.txt"))
DUMPS = sorted((TESTS / "debug" / "workers" / "recorded").glob("dump-*.json"))
SSH_CONFIG = """
Host login login-*
  HostName = 10.0.0.1
  User "alice"
Match host *.x exec "true"
Include {folder}/inc/*.conf ~nobody-known/x
Host a b !c
  HostName h # comment
"""
SSH = [
    "ssh: connect to host x port 22: No route to host",
    "alice@login: Permission denied (publickey,password).",
    "channel 3: open failed: connect failed: Connection refused",
    "kex_exchange_identification: Connection closed by remote host",
    "Connection closed by 10.0.0.1 port 22",
    "config line 3: keyword HostName extra arguments at end of line",
]
SRUN = [
    "srun: error: Unable to confirm allocation for job 3: Invalid job id specified",
    "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026 DUE TO TIME LIMIT ***",
    "srun: Job 3 step creation temporarily disabled, retrying (Requested nodes are busy)",
]
MOUNTS = """22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 /home /home rw - nfs4 server:/export/home rw
31 22 8:2 /a\\040b /mnt/x\\134y rw - ext4 /dev/sdb rw
40 30 0:41 / /home/a/deep rw - lustre 10.0.0.1@tcp:/fs rw
"""
TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1
   1: 00000000000000000000000001000000:2049 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7 1
"""


def ssh_config(text: str) -> None:
    for host in configured_hosts(written("config", text.replace("{folder}", str(folder())))):
        assert not host.name.startswith("-") and host.name.isprintable()
        assert host.detail.isprintable()


def ssh_messages(text: str) -> None:
    words = StderrLines()
    for line in text.split("\n"):
        words.take(line)
    error, _ = words.explain("login")
    shown(error)
    shown(forward_error("node:1", "login", words.next_refusal()))
    assert words.last.isprintable() and len(words.last) < 1000
    _ = words.has_changed_key, words.offers_questions


def srun_messages(text: str) -> None:
    shown(stderr.explain(RouteSpec(ssh="login", job="3", node="n1"), text))


def shown(error: EaglerayError) -> None:
    """Text that a user gets to see is printable and bounded, whatever a program printed."""
    assert error.message.isprintable() and len(error.message) < 2000, error.message[:300]
    assert error.shown_step.isprintable()


def address(text: str) -> None:
    """An address that is accepted has one form, which is read as itself."""
    found = normalised(text)
    assert normalised(found) == found, (found, normalised(found))
    assert parse_address(found).id == found and found.isprintable() and " " not in found
    host_and_port(found)


def node_address(text: str) -> None:
    found = host_of(text)
    assert not found.startswith("-") and not set(found) & set("@/ \t\n'\"$;|&`")


def access(text: str) -> None:
    for one in stored_access({"EAGLERAY_ACCESS": text} if text else {}, None).values():
        assert "\n" not in one.token and one.token.isascii()
        assert all(value.isprintable() for value in one.headers.values())


def mounts(text: str) -> None:
    """Mounts lead to absolute paths, and nothing climbs out of a mount."""
    known = table(Mounts(boot="b", mountinfo=text + "\n"))
    for path in ("/home/a/train.py", "/mnt/x\\y/f", "/"):
        for fit in mounted_files(path, known, known[::-1]):
            assert ".." not in fit.local.split("/") or ".." in text
    is_network_folder(folder(), text)


def tcp_table(text: str) -> None:
    for inode, listener in of_table(text):
        assert inode >= 0 and listener.port >= 0
    belongs_to_other_user(f"Uid:\t1000\t1000\n{text}", 8080)


def pyspy_text(text: str) -> None:
    dump = parse_text(text)
    if dump is not None:
        stop_in_dump(dump)
        stop_in_dump(dump, "ray::")


def pyspy_json(text: str) -> None:
    dump = parse_json(1, text.encode("utf-8", "surrogatepass"), "/home/a")
    if dump is not None:
        stop_in_dump(dump)


def nsys_messages(text: str) -> None:
    assert _reason(text, 1).isprintable()
    version = parse_version(text)
    is_newer(version, "2024.1.1")
    is_newer("2024.1.1", version)


def paths(said: Any) -> None:
    """A mapped path lies below the folder that it is mapped to; a mapping that is found leads back."""
    if not isinstance(said, dict):
        return
    remote, local, path = (str(said.get(key, "")) for key in ("remote", "local", "path"))
    mapping = PathMapping(remote, local)
    if worker_paths.is_file_name(path):
        mapped = worker_paths.apply(mapping, path)
        assert (
            not (mapped and local)
            or posixpath.normpath(mapped).startswith(posixpath.normpath(local).rstrip("/"))
            or not local.startswith("/")
            or ".." in local
        )
        worker_paths.concrete(mapping, path)
        between = worker_paths.mapping_between(path, local, ["/home/a"])
        assert between.remote and between.local
    list(worker_paths.suffixes(path[:300]))
    worker_paths.is_installed(path)


def one_line(text: str) -> None:
    assert printable(text).isprintable() and len(printable(text)) <= 201


PATHS = {
    "remote": "/tmp/ray/session_1/runtime_resources/working_dir_files/_ray_pkg_ab12/src",
    "local": "/home/a/src",
    "path": "/tmp/ray/session_2/runtime_resources/working_dir_files/_ray_pkg_cd34/src/x/train.py",
}
TARGETS = [
    Target(
        "ssh-config",
        "text",
        ssh_config,
        [SSH_CONFIG, "Host=x\nUser=y"],
        (),
        ("Include", "Host ", "HostName", "Match", "*", '"', "~", "**"),
    ),
    Target(
        "ssh-messages",
        "text",
        ssh_messages,
        ["\n".join(SSH), *SSH],
        (),
        (
            "Connection ",
            "keyword ",
            " extra arguments",
            "open failed: ",
            "Host key for ",
            "connect to host ",
        ),
    ),
    Target(
        "srun-messages",
        "text",
        srun_messages,
        ["\n".join(SRUN), *SRUN],
        (),
        ("srun", "python3", "JOB ", " ON ", " CANCELLED", "No such file"),
    ),
    Target(
        "addresses",
        "text",
        address,
        [
            "http://127.0.0.1:8265",
            "https://h.example/ray/x#/jobs",
            "ssh://a@login/8265",
            "ssh://login/slurm://123_4",
            "[::1]:8265",
            "http://[::ffff:127.0.0.1]:1",
        ],
        (EaglerayError,),
        ("http://", "ssh://", "slurm://", "[", "]", ":", "@", "%", "//", "#", "?", "::"),
    ),
    Target(
        "node-addresses",
        "text",
        node_address,
        ["10.0.0.1", "node-1.x", "::1", "fe80::1%eth0"],
        (EaglerayError,),
    ),
    Target(
        "access",
        "json",
        access,
        [
            '{"https://h/ray": {"token": "t", "headers": {"X-A": "b"}, "ca_file": "~/ca.pem"}}',
            '{"h": {"ca_file": "~nobody-known/x"}}',
        ],
        (EaglerayError,),
    ),
    Target(
        "mounts",
        "text",
        mounts,
        [MOUNTS],
        (),
        (" - ", "\\040", "\\134", "\\777", "/", "nfs4", " 0:40 "),
    ),
    Target("tcp-table", "text", tcp_table, [TCP], (), (" 0A ", ":1F90", "0100007F", "\n")),
    Target(
        "pyspy-text",
        "text",
        pyspy_text,
        [path.read_text() for path in TRACES],
        (),
        ("Process ", "Thread ", " (", ":", "(idle)", ': "'),
    ),
    Target("pyspy-json", "json", pyspy_json, [path.read_text() for path in DUMPS]),
    Target(
        "nsys-messages",
        "text",
        nsys_messages,
        [
            "NVIDIA Nsight Systems version 2024.5.1.113-245134619542v0",
            "Exporting data: 30%\r[====] Exporting 100%\nerror: bad",
        ],
        (),
        ("[=====", "%]", "\r", "Exporting ", "version "),
    ),
    Target(
        "paths",
        "value",
        paths,
        [PATHS, {"remote": "/pkg", "local": "/home/a/pkg", "path": "/pkg/a/b.py"}],
    ),
    Target("printable", "text", one_line, ["a name", "a\x1b[2Jb"]),
]
