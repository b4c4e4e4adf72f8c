"""Finds this user's Ray dashboards on the node where it runs, also those that listen on localhost only.

Sent as text to `python3 -I -`, by `srun --overlap` on every node of a job, with a mark and the job's id as
arguments; it prints one line: the mark and JSON.  It needs only Python 3.6.

1. The processes of this user that are a Ray dashboard, or listen on its usual port.
2. Each port on which they listen is queried for a dashboard.
3. A dashboard that runs in another job is left out.
"""

import http.client
import json
import os
import re
import socket
import sys
from pathlib import Path

USUAL_PORT = 8265
ANSWER_S = 4.0
LISTEN = "0A"


def main(arguments: "list[str]") -> None:
    mark, job = arguments[0], arguments[1]
    value = {
        "node": os.environ.get("SLURMD_NODENAME") or socket.gethostname(),
        "found": find_dashboards(job),
    }
    sys.stdout.write("\n" + mark + json.dumps(value) + "\n")
    sys.stdout.flush()


def find_dashboards(job: str) -> "list[dict[str, object]]":
    own = {inode: place for inode, place in listeners().items() if place[2] == os.getuid()}
    dashboards: list[tuple[tuple[str, int, int], int]] = []
    checked: set[tuple[str, int]] = set()
    for pid, argv in dashboard_processes():
        places = endpoints_of(pid, argv, own)
        if job_of(pid) in ("", job):
            dashboards += [(place, start_ticks(pid)) for place in places]
        else:
            checked.update(place[:2] for place in places)
    dashboards += [(place, 0) for place in own.values() if place[1] == USUAL_PORT]
    answers = []
    for (address, port, _), start in dashboards:
        if (address, port) in checked:
            continue
        checked.add((address, port))
        answer = query(address, port)
        if answer is not None:
            answers.append(dict(answer, address=address, port=port, started=start))
    return answers


def listeners() -> "dict[str, tuple[str, int, int]]":
    """Inode of each listening socket: its address, port and user."""
    places = {}
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        try:
            lines = Path("/proc/net", name).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == LISTEN:
                host, port = fields[1].split(":")
                places[fields[9]] = (address_of(host, family), int(port, 16), int(fields[7]))
    return places


def address_of(written: str, family: int) -> str:
    """Parses an address as the kernel writes it: 32-bit words in the byte order of the machine."""
    parts = [written[at : at + 8] for at in range(0, len(written), 8)]
    packed = b"".join(int(part, 16).to_bytes(4, sys.byteorder) for part in parts)
    text = socket.inet_ntop(family, packed)
    return text[7:] if text.startswith("::ffff:") else text


def dashboard_processes() -> "list[tuple[str, list[bytes]]]":
    """Process ids and arguments."""
    processes = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and folder.stat().st_uid == os.getuid():
                argv = (folder / "cmdline").read_bytes().split(b"\0")  # kernel's file
                if any(word.endswith(b"/ray/dashboard/dashboard.py") for word in argv[:4]):
                    processes.append((folder.name, argv))
        except OSError:
            continue
    return processes


def endpoints_of(
    pid: str, argv: "list[bytes]", own: "dict[str, tuple[str, int, int]]"
) -> "list[tuple[str, int, int]]":
    """Returns the addresses of a dashboard by its sockets, or by its `--port` if they can't be read."""
    inodes = sockets_of(pid)
    if inodes:
        return [own[inode] for inode in inodes if inode in own]
    given = [word.partition(b"=")[2] for word in argv if word.startswith(b"--port=")]
    ports = {int(port) for port in given if port.isdigit()} or {USUAL_PORT}
    return [place for place in own.values() if place[1] in ports]


def sockets_of(pid: str) -> "list[str]":
    inodes = []
    try:
        for handle in Path("/proc", pid, "fd").iterdir():
            try:
                # Path.readlink is new in Python 3.9.
                match = re.match(r"socket:\[(\d+)\]", os.readlink(str(handle)))  # noqa: PTH115
            except OSError:
                continue
            if match:
                inodes.append(match.group(1))
    except OSError:
        pass
    return inodes


def job_of(pid: str) -> str:
    """The job in which a process runs, by its cgroup or its environment; "" if unknown."""
    try:
        group = re.search(r"/job_(\d+)(/|$)", Path("/proc", pid, "cgroup").read_text(), re.M)
        if group:
            return group.group(1)
        for entry in Path("/proc", pid, "environ").read_bytes().split(b"\0"):
            if entry.startswith(b"SLURM_JOB_ID="):
                return entry.partition(b"=")[2].decode("ascii", "replace")
    except OSError:
        pass
    return ""


def start_ticks(pid: str) -> int:
    """The start of a process, in ticks since the machine started."""
    try:
        return int(Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def query(address: str, port: int) -> "dict[str, object] | None":
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_S)
    try:
        connection.request("GET", "/api/version", headers={"User-Agent": "eagleray"})
        answer = connection.getresponse()
        if answer.status == 401:
            return {"session": "", "ray": ""}
        value = json.loads(answer.read(2**20).decode("utf-8", "replace"))
        return {"session": str(value.get("session_name") or ""), "ray": str(value["ray_version"])}
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        return None
    except http.client.HTTPException:
        return None
    finally:
        connection.close()


if __name__ == "__main__":
    main(sys.argv[1:])
