"""The file that a worker and this machine both have, by their mount tables."""

from __future__ import annotations

import pytest
from eagleray.debug.source_mapping import worker_paths
from eagleray.debug.source_mapping.mounts import MountedFile, mounted_files, table
from eagleray.protocol.adapter_control import Mounts, PathMapping

DISK = "30 1 8:1 {root} {point} rw,relatime shared:1 - ext4 /dev/sda1 rw"
NFS = "40 1 0:{device} {root} {point} rw - {kind} {source} rw,addr=10.0.0.1"
LAYERS = "50 1 0:99 / / rw - overlay overlay rw,lowerdir=/x"


def disk(root: str, point: str) -> str:
    return DISK.format(root=root, point=point)


def nfs(
    source: str, point: str, root: str = "/", kind: str = "nfs4", device: int = 44, **_: str
) -> str:
    return NFS.format(source=source, point=point, root=root, kind=kind, device=device)


# worker's path, its mounts, ours, the file here, the mapping
CASES = [
    (
        "a folder of the home in a container of this machine",
        "/workspace/pkg/x.py",
        [LAYERS, disk("/home/alice/code", "/workspace")],
        [disk("/", "/")],
        "/home/alice/code/pkg/x.py",
        PathMapping("/workspace", "/home/alice/code"),
    ),
    (
        "a disk that is mounted deeper here",
        "/workspace/x.py",
        [LAYERS, disk("/", "/workspace")],
        [disk("/", "/mnt/data")],
        "/mnt/data/x.py",
        PathMapping("/workspace", "/mnt/data"),
    ),
    (
        "only a part of what the container has is here",
        "/data/code/x.py",
        [LAYERS, disk("/", "/data")],
        [disk("/code", "/home/alice/code")],
        "/home/alice/code/x.py",
        PathMapping("/data/code", "/home/alice/code"),
    ),
    (
        "a shared home, on another node and with another number",
        "/workspace/x.py",
        [LAYERS, nfs("fs:/export/home", "/workspace", "/alice/code", device=7)],
        [nfs("fs:/export/home", "/home")],
        "/home/alice/code/x.py",
        PathMapping("/workspace", "/home/alice/code"),
    ),
    (
        "the same server, mounted at another depth and by another version",
        "/workspace/x.py",
        [LAYERS, nfs("fs:/export", "/workspace", "/home/alice/code", kind="nfs")],
        [nfs("fs:/export/home/alice", "/home/alice")],
        "/home/alice/code/x.py",
        PathMapping("/workspace", "/home/alice/code"),
    ),
    (
        "a parallel file system, whose source is a list of servers",
        "/w/x.py",
        [LAYERS, nfs("10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch", "/w", "/alice", kind="lustre")],
        [nfs("10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch", "/scratch", kind="lustre")],
        "/scratch/alice/x.py",
        PathMapping("/w", "/scratch/alice"),
    ),
    (
        "one that has only a name",
        "/w/x.py",
        [LAYERS, nfs("gpfs0", "/w", "/alice", kind="gpfs")],
        [nfs("gpfs0", "/gpfs", kind="gpfs")],
        "/gpfs/alice/x.py",
        PathMapping("/w", "/gpfs/alice"),
    ),
    (
        "names with spaces",
        "/my code/x.py",
        [LAYERS, disk("/home/a\\040b", "/my\\040code")],
        [disk("/", "/")],
        "/home/a b/x.py",
        PathMapping("/my code", "/home/a b"),
    ),
    (
        "a mount within a mount of the container",
        "/workspace/sub/x.py",
        [LAYERS, disk("/home/alice", "/workspace"), disk("/scratch/sub", "/workspace/sub")],
        [disk("/", "/")],
        "/scratch/sub/x.py",
        PathMapping("/workspace/sub", "/scratch/sub"),
    ),
]


def lines(*mounts: str, boot: str = "boot\n") -> Mounts:
    return Mounts(boot, "".join(f"{line}\n" for line in mounts))


@pytest.mark.parametrize(
    ("path", "theirs", "ours", "local", "mapping"),
    [pytest.param(*case[1:], id=case[0]) for case in CASES],
)
def test_mounted_file_is_mapped_to_its_local_path(
    path: str, theirs: list[str], ours: list[str], local: str, mapping: PathMapping
) -> None:
    assert mounted_files(path, table(lines(*theirs)), table(lines(*ours))) == [
        MountedFile(local, mapping)
    ]


NOTHING = [
    ("no container", "/home/a/x.py", [disk("/", "/")], [disk("/", "/")]),
    ("of the image", "/opt/x.py", [LAYERS], [LAYERS, disk("/", "/")]),
    (
        "the same home under the same path",
        "/home/alice/x.py",
        [LAYERS, nfs("fs:/home", "/home")],
        [disk("/", "/"), nfs("fs:/home", "/home")],
    ),
    ("another server", "/w/x.py", [nfs("a:/home", "/w")], [nfs("b:/home", "/home")]),
    (
        "something lies over it here",
        "/w/x.py",
        [LAYERS, disk("/home/alice", "/w")],
        [disk("/", "/"), nfs("fs:/home", "/home")],
    ),
    ("nonsense", "/w/x.py", ["", "a b c", "1 2 3 - 4", "- - - - - - -"], [disk("/", "/")]),
    ("nothing is known", "/w/x.py", [], []),
]


@pytest.mark.parametrize(
    ("path", "theirs", "ours"), [pytest.param(*case[1:], id=case[0]) for case in NOTHING]
)
def test_unmounted_file_has_no_local_path(path: str, theirs: list[str], ours: list[str]) -> None:
    assert mounted_files(path, table(lines(*theirs)), table(lines(*ours))) == []


def test_disk_of_another_machine_with_the_same_name_is_another_disk() -> None:
    theirs = table(lines(disk("/home/alice", "/w"), boot="one"))
    assert mounted_files("/w/x.py", theirs, table(lines(disk("/", "/"), boot="other"))) == []


def test_truncated_table_loses_its_last_line_only() -> None:
    whole = lines(disk("/", "/"), disk("/code", "/w"))
    cut = Mounts(whole.boot, whole.mountinfo[:-20])
    assert [mount.point for mount in table(cut)] == ["/"]
    assert table(Mounts()) == []


def test_each_mount_of_a_large_table_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    below, calls = worker_paths.below, []

    def counted(path: str, folder: str) -> bool:
        calls.append(path)
        return below(path, folder)

    monkeypatch.setattr(worker_paths, "below", counted)
    ours = table(Mounts("b", "".join(f"{disk('/', f'/mnt/{n}')}\n" for n in range(500))))
    theirs = table(Mounts("b", f"{LAYERS}\n{disk('/', '/workspace')}\n"))
    assert len(mounted_files("/workspace/x.py", theirs, ours)) == 500
    # Comparing each mount with each other one would be a quarter of a million.
    assert len(calls) < 10 * len(ours)


def test_overlong_path_fits_no_mount() -> None:
    theirs = table(Mounts("b", f"{LAYERS}\n{disk('/', '/workspace')}\n"))
    ours = table(Mounts("b", f"{disk('/', '/mnt')}\n"))
    assert mounted_files("/workspace" + "/x" * 30_000, theirs, ours) == []
