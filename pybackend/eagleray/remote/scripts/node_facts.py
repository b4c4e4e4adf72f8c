"""Prints facts about this node as one JSON object: what decides whether a distributed program can run here.

Run by the interpreter of the program, whose versions it reports.  Needs no root, imports nothing of the program, starts
only nvidia-smi where an ended Ray has left workers, and reads only what belongs to the user or to all.  A fact that can't be read is None or missing.

`EAGLERAY_FACTS_OF` is the PID of the process whose limits, control group and processors are read, instead of our own.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

# Without values: only whether they are set and, of proxies, which addresses they leave out.
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
PACKAGES = (
    *(
        "ray",
        "debugpy",
        "torch",
        "vllm",
        "sglang",
        "transformers",
        "flash-attn",
        "numpy",
        "pyarrow",
    ),
    *("nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13"),
    *("nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime"),
    *("verl", "areal", "nemo-rl", "openrlhf", "rlinf"),
)
_GRAPHICS = (
    "/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
    "/usr/share/vulkan/icd.d/nvidia_icd.json",
    "/etc/vulkan/icd.d/nvidia_icd.json",
)
_LISTEN = "0A"
# Reading the open files of all processes of a user takes no longer.
_OWNERS_S = 0.2
# A lost GPU lets nvidia-smi wait for ever.
_GPU_LIMIT_S = 3.0
_GPU_QUERY = ("--query-compute-apps=pid,used_gpu_memory", "--format=csv,noheader,nounits")
# linux/capability.h
_CAP_SYS_PTRACE = 19
_NO_LIMIT = 2**60
# Variables that decide how workers run; where Ray runs already, they have its raylet's variables.
_WORKER_VARIABLES = (
    "NCCL_",
    "GLOO_",
    "TORCH_",
    "PYTORCH_",
    "CUDA_",
    "VLLM_",
    "SGLANG_",
    "HF_",
    "MUJOCO_GL",
)
_LONGEST_PART = 800
_SHM = "/dev/shm"  # noqa: S108
_TMP = "/tmp"  # noqa: S108


def facts() -> dict[str, Any]:
    """All facts; sizes in bytes, times in seconds since 1970."""
    root, tmp = _ray_root()
    pid = int(os.environ.get("EAGLERAY_FACTS_OF", "0"))
    return {
        "host": socket.gethostname(),
        "time": time.time(),
        "utc_offset": time.localtime().tm_gmtoff,
        "system": _system(),
        "kernel": f"{os.uname().sysname} {os.uname().release} {os.uname().machine}",
        "python": sys.version.split()[0],
        "executable": sys.executable,
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "memory": _memory(),
        "shm": _disk(_SHM, root),
        "ray_tmp": _disk(tmp or os.environ.get("RAY_TMPDIR", _TMP), root),
        "nofile": _limits(pid, resource.RLIMIT_NOFILE),
        "nproc": _limits(pid, resource.RLIMIT_NPROC),
        "cgroup": _cgroup(f"/proc/{pid or 'self'}/cgroup"),
        "ephemeral_ports": _numbers("/proc/sys/net/ipv4/ip_local_port_range"),
        "ptrace_scope": (_numbers("/proc/sys/kernel/yama/ptrace_scope") or [0])[0],
        "may_trace": _may_trace(),
        "listeners": _listeners(),
        "addresses": _addresses(),
        "resolved": _resolved(),
        "variables": _variables(),
        **_ray_processes(),
        "gpus": sorted(map(str, Path("/dev").glob("nvidia[0-9]*"))),
        "gpu_models": _gpu_models(),
        "driver": _driver(),
        "graphics": [path for path in _GRAPHICS if Path(root + path).exists()],
        "cpus": len(os.sched_getaffinity(pid))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "all_cpus": os.cpu_count(),
    }


def _limits(pid: int, kind: int) -> list[int]:
    return list(resource.prlimit(pid, kind) if pid else resource.getrlimit(kind))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _text(path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:  # kernel's file
            return file.read(65_536)
    except OSError:
        return ""


def _numbers(path: str) -> list[int]:
    return [int(text) for text in _text(path).split() if text.isdigit()]


def _may_trace(own: str = "/proc/self/status") -> bool | None:
    """Whether this process may read any process, as with CAP_SYS_PTRACE, which root usually has."""
    for line in _text(own).splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) & 1 << _CAP_SYS_PTRACE)
    return None


def _memory() -> int | None:
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return 1024 * int(line.split()[1])
    return None


def _ray_root() -> tuple[str, str]:
    """The file system that the Ray of this SLURM job sees, "" unless it runs in a container, and its folder for temporary files."""
    own = _mounts("self")
    for path in _processes():
        entry = _ray_process(path)
        if not entry or entry["name"] != "raylet" or entry["user"] != os.getuid():
            continue
        mounts = _mounts(path.name)
        if mounts and own and mounts != own and _is_of_this_job(path):
            folder = re.search(r"\0--temp_dir=(/[^\0]+)", _text(f"{path}/cmdline"))
            return f"{path}/root", folder[1] if folder else _TMP
    return "", ""


def _mounts(pid: str) -> int:
    """The mount namespace of a process, 0 if it can't be read."""
    try:
        return Path(f"/proc/{pid}/ns/mnt").stat().st_ino
    except OSError:
        return 0


def _is_of_this_job(path: Path) -> bool:
    job = os.environ.get("SLURM_JOB_ID", "")
    return bool(job) and f"SLURM_JOB_ID={job}" in _text(f"{path}/environ").split("\0")


def _disk(path: str, root: str = "") -> dict[str, Any] | None:
    """The file system of a path, which is below `root` in a container."""
    try:
        status = os.statvfs(root + path)
    except OSError:
        return None
    return {
        "path": path,
        "size": status.f_blocks * status.f_frsize,
        "free": status.f_bavail * status.f_frsize,
    }


def _cgroup(
    own: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup"
) -> dict[str, int | None] | None:
    """The memory limit of this process that leaves least, its use, and how many processes were killed for it.

    SLURM and systemd limit a folder above the folder of the process.
    """
    memberships = [line.split(":", 2)[1:] for line in _text(own).splitlines()]
    for controllers, name in memberships:
        if "memory" in controllers.split(","):
            return _tightest(
                f"{root}/memory", name, "memory.limit_in_bytes", "memory.usage_in_bytes"
            )
    for controllers, name in memberships:
        if not controllers:
            return _tightest(root, name, "memory.max", "memory.current")
    return None


def _tightest(root: str, name: str, limit_file: str, used_file: str) -> dict[str, int | None]:
    folders = [root + str(folder).rstrip("/") for folder in (Path(name), *Path(name).parents)]
    limited = []
    for folder in folders:
        limit, used = _numbers(f"{folder}/{limit_file}"), _numbers(f"{folder}/{used_file}")
        # Version 1 has a number of this size where nothing is limited.
        if limit and used and limit[0] < _NO_LIMIT:
            limited.append((limit[0] - used[0], limit[0], used[0], folder))
    if not limited:
        return {"limit": None, "used": None, "kills": _kills(folders[0])}
    _, least, used_there, folder = min(limited)
    return {"limit": least, "used": used_there, "kills": _kills(folder)}


def _kills(folder: str) -> int:
    """Processes that the kernel has killed in this cgroup for lack of memory (version 2; memory.oom_control in version 1)."""
    text = _text(f"{folder}/memory.events") or _text(f"{folder}/memory.oom_control")
    counts = [int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill ")]
    return counts[0] if counts else 0


def _listeners() -> list[dict[str, Any]]:
    """Listening TCP ports: {port, address, user}, of the user's own processes also {pid, program}."""
    listening = [
        (columns, size)
        for path, size in (("/proc/net/tcp", 4), ("/proc/net/tcp6", 16))
        for columns in map(str.split, _text(path).splitlines()[1:])
        if len(columns) > 9 and columns[3] == _LISTEN
    ]
    owners = _socket_owners({columns[9] for columns, _ in listening})
    result = []
    for columns, size in listening:
        address, port = columns[1].split(":")
        result.append(
            {
                "port": int(port, 16),
                "address": _address(address, size),
                "user": _user(int(columns[7])),
                **owners.get(columns[9], {}),
            }
        )
    return result


def _socket_owners(inodes: set[str]) -> dict[str, dict[str, Any]]:
    """The user's own processes by the `inodes` of their sockets, as far as they can be read in a short time.

    The newest processes come first, since they are rarely the machine's own services.  A forked child has the sockets
    of its parent, which is then the owner.
    """
    result: dict[str, dict[str, Any]] = {}
    until = time.monotonic() + _OWNERS_S
    for path in sorted(_processes(), key=lambda path: -int(path.name)):
        if time.monotonic() > until:
            break
        try:
            links = [str(file.readlink()) for file in (path / "fd").iterdir()]
        except OSError:
            continue
        sockets = inodes.intersection(link[8:-1] for link in links if link.startswith("socket:["))
        if sockets:
            program = Path(_text(f"{path}/cmdline").split("\0")[0]).name.split(" ")[0]
            for inode in sockets:
                result[inode] = {"pid": int(path.name), "program": program}
    return result


def _processes() -> list[Path]:
    return list(Path("/proc").glob("[0-9]*"))


def _address(text: str, size: int) -> str:
    parts = [int(text[at : at + 8], 16) for at in range(0, 2 * size, 8)]
    packed = b"".join(struct.pack("=I", part) for part in parts)
    return socket.inet_ntop(socket.AF_INET if size == 4 else socket.AF_INET6, packed)


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _addresses() -> list[dict[str, str]]:
    """IPv4 addresses of this host's interfaces, {interface, address}; the loopback is left out."""
    siocgifaddr = 0x8915
    result = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name[:15].encode())
            try:
                answer = fcntl.ioctl(probe.fileno(), siocgifaddr, request)
            except OSError:
                continue
            address = socket.inet_ntoa(answer[20:24])
            if not address.startswith("127."):
                result.append({"interface": name, "address": address})
    return result


def _resolved() -> list[str]:
    """The addresses to which the name of this host resolves; gloo listens there."""
    try:
        entries = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    except OSError:
        return []
    return sorted({str(entry[4][0]) for entry in entries})


def _variables() -> dict[str, Any]:
    environ = os.environ
    return {
        "proxies": [name for name in _PROXIES if environ.get(name)],
        "no_proxy": environ.get("no_proxy") or environ.get("NO_PROXY") or "",
        "ray_debug": environ.get("RAY_DEBUG", ""),
        "interfaces": {
            name: environ[name]
            for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
            if environ.get(name)
        },
        "nccl_timeout": "NCCL_TIMEOUT" in environ,
        "slurm_job": environ.get("SLURM_JOB_ID", ""),
        "slurm_end": environ.get("SLURM_JOB_END_TIME", ""),
        "slurm_cpus": environ.get("SLURM_CPUS_ON_NODE", ""),
    }


def _ray_processes() -> dict[str, Any]:
    """The user's `processes` of Ray, and how many workers of each other user an ended Ray has left (`others_left`).

    A process is {pid, name, parent, nofile, lacks, is_left, gpu_mib}: workers get a raylet's limit of open files, `lacks` are
    names of this process's variables that a raylet, and so its workers, doesn't have.
    """
    rows = [entry for path in _processes() if (entry := _ray_process(path))]
    by_pid = {entry["pid"]: entry for entry in rows}
    left = {entry["pid"] for entry in rows if _is_left(entry, by_pid)}
    memory = _gpu_memory() if left else {}
    others: dict[str, int] = {}
    own = []
    for entry in rows:
        user, is_left = entry.pop("user"), entry["pid"] in left
        if user == os.getuid():
            folder = f"/proc/{entry['pid']}"
            lacks = _lacking_variables(folder) if entry["name"] == "raylet" else []
            own.append(
                {
                    **entry,
                    "nofile": _soft_nofile(folder),
                    "lacks": lacks,
                    "is_left": is_left,
                    "gpu_mib": memory.get(entry["pid"], 0),
                }
            )
        elif is_left:
            others[_user(user)] = others.get(_user(user), 0) + 1
    return {"processes": own, "others_left": others}


def _ray_process(path: Path) -> dict[str, Any] | None:
    """A process of Ray of any user: {pid, name, parent, user}; None for others, and for those that can't be read."""
    name = Path(_text(f"{path}/cmdline").split("\0")[0]).name.split(" ")[0]
    if name not in ("raylet", "gcs_server") and not name.startswith("ray::"):
        return None
    stat = _text(f"{path}/stat").rpartition(")")[2].split()
    try:
        return {
            "pid": int(path.name),
            "name": name,
            "parent": int(stat[1]),
            "user": path.stat().st_uid,
        }
    except (OSError, IndexError):
        return None


def _is_left(entry: dict[str, Any], by_pid: dict[int, dict[str, Any]]) -> bool:
    """Whether no raylet is above a worker; processes that a worker has forked have its name."""
    if not entry["name"].startswith("ray::"):
        return False
    visited: set[int] = set()
    while entry["parent"] in by_pid and entry["pid"] not in visited:
        visited.add(entry["pid"])
        entry = by_pid[entry["parent"]]
    return bool(entry["name"] != "raylet")


def _gpu_memory() -> dict[int, int]:
    """The memory of GPUs in MiB that each process holds, as nvidia-smi lists it; {} where it doesn't answer."""
    program = shutil.which("nvidia-smi")
    if not program:
        return {}
    try:
        process = subprocess.Popen(
            [program, *_GPU_QUERY],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except OSError:
        return {}
    try:
        output, _ = process.communicate(timeout=_GPU_LIMIT_S)
    except subprocess.TimeoutExpired:
        # It isn't waited for: the kernel may never end it (leptonai/gpud#117).
        process.kill()
        return {}
    memory: dict[int, int] = {}
    for line in output.splitlines():
        pid, _, mib = line.partition(",")
        if pid.strip().isdigit() and mib.strip().isdigit():
            memory[int(pid)] = memory.get(int(pid), 0) + int(mib)
    return memory


def _lacking_variables(folder: str) -> list[str]:
    names = {entry.partition("=")[0] for entry in _text(folder + "/environ").split("\0")} - {""}
    own = (name for name in os.environ if name.startswith(_WORKER_VARIABLES))
    return sorted(name for name in own if name not in names) if names else []


def _soft_nofile(folder: str) -> int | None:
    for line in _text(folder + "/limits").splitlines():
        if line.startswith("Max open files"):
            limit = line[len("Max open files") :].split()[0]
            return int(limit) if limit.isdigit() else None
    return None


def _system(release: str = "/etc/os-release") -> str:
    for line in _text(release).splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip("\"'")
    return ""


def _gpu_models(folder: str = "/proc/driver/nvidia/gpus") -> list[str]:
    """The model of each GPU, as the kernel's driver names it."""
    texts = [_text(str(path)) for path in sorted(Path(folder).glob("*/information"))]
    lines = [line for text in texts for line in text.splitlines()]
    return [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]


def _driver() -> str:
    parts = _text("/proc/driver/nvidia/version").split()
    versions = [part for part in parts if part[:1].isdigit() and "." in part]
    return versions[0] if versions else ""


def _lines(mark: str, value: object) -> str:
    """The value in parts: SLURM mixes longer lines with lines of other tasks (22.05, slurmstepd/io.c)."""
    text = json.dumps(value)
    parts = [text[at : at + _LONGEST_PART] for at in range(0, len(text), _LONGEST_PART)]
    key = f"{socket.gethostname()[:64]}/{os.getpid()}"
    return "\n" + "".join(f"{mark} {key} {len(parts)} {part}\n" for part in parts)


if __name__ == "__main__":
    # The mark of who has asked, as an argument, tells its lines from what a shell prints.
    marks = sys.argv[1:]
    sys.stdout.write(_lines(marks[0], facts()) if marks else json.dumps(facts()) + "\n")
