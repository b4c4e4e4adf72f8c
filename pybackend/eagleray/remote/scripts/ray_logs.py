"""Prints excerpts of the logs of a SLURM job's Ray on this node: `MARK JOB SECONDS BYTES SIGNS`.

Sent as text to `python3 -I -`, once on each node of the job, which has run for so many SECONDS.  SIGNS is JSON, compressed, in
base64: `rules`, pairs of literals and a pattern, and of errors that no rule explains `markers`, texts that they have, and
`forms`, regular expressions that mean the same to `grep -E` and Python.  For each log with such
lines it prints lines with the mark and parts of JSON: `host`, `path`, and `data`, these lines and those near them, compressed,
in base64, all together about BYTES.  The last value has `host`, `logs`, `unread` and `cut`: how many logs there are, how many of them
weren't read, and of how many only the beginning and the end.

It has the lowest priority, ends after half a minute, opens regular files of its own user only, and changes nothing.
It needs only Python 3.6, the `python3` of many nodes.
"""

import base64
import fnmatch
import itertools
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

LIMIT_S = 30.0
LOGS = (
    *("job-driver-*.log", "worker-*.err", "raylet.*", "gcs_server.*", "monitor.*"),
    *("runtime_env_setup-*.log", "worker-*.out"),
)
OWN = "job-driver-eagleray_*"
MOST_LOGS = 5000
# For a larger log, a quarter of this is its beginning, the rest its end.
LARGEST = 32 * 2**20
# A clock is set now and then.
SLACK_S = 60.0
# In each log: lines of a rule, and of errors that no rule explains.
MOST_OF_RULE = 3
MOST_UNKNOWN = 20
MOST_TRIED = 20000
# Near a line: lines with its time and its rank, and lines of its traceback.
BEFORE, AFTER, TRACE = 10, 3, 80
TRACEBACK = b"Traceback (most recent call last)"
LONGEST_LINE = 4000
# An excerpt isn't shortened below this size, even if it exceeds the limit.
SHORTEST_TEXT = 4000
# How far a pattern may reach from its literal.
REACH = 400
LONGEST_PART = 800
NUMBERS = itertools.count()
GREP = shutil.which("grep") or "grep"
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
SPECIAL = re.compile(rb"[][\\.*^$+?(){}|]")
# With literals alone, grep takes twice the time; no log has these bytes.
NO_LITERAL = b"\x01[\x02]\x01"
LOG_FOLDER = re.compile(r"--log_dir=(/.+)")
# The file system of a process in a container, such as one of enroot: its /tmp is its own.
ROOT = re.compile(r"/proc/\d+/root(?=/)")


def main(arguments: "list[str]") -> None:
    mark, job, seconds, room, signs = arguments
    os.nice(19)
    ends = time.monotonic() + LIMIT_S
    since = time.time() - float(seconds) - SLACK_S
    left = int(room)
    excerpts = Excerpts(json.loads(zlib.decompress(base64.b64decode(signs)).decode("utf-8")))
    paths = [path for folder in folders_of(job, since) for path in logs_in(folder, since)]
    names = set()  # type: set[str]
    # Drivers have the output of all their workers.
    paths.sort(key=rank_of)
    unread = cut = 0
    for path in paths[:MOST_LOGS]:
        if time.monotonic() > ends or left <= 0:
            unread += 1
            continue
        try:
            text, is_cut = excerpts.of(path)
        except OSError:
            unread += 1
            continue
        if text:
            data, is_shortened = packed(text, left)
            is_cut = is_cut or is_shortened
            left -= len(data)
            write(mark, {"path": shown(path, names), "data": data})
        cut += is_cut
    unread += len(paths[MOST_LOGS:])
    write(mark, {"logs": len(paths), "unread": unread, "cut": cut})


def packed(text: bytes, room: int) -> "tuple[str, bool]":
    """The compressed lines, and whether the last ones were left out to fit into `room`; at least SHORTEST_TEXT stays."""
    is_shortened = False
    while True:
        data = base64.b64encode(zlib.compress(text, 6)).decode("ascii")
        if len(data) <= room or len(text) < SHORTEST_TEXT:
            return data, is_shortened
        text = text[: len(text) // 2].rpartition(b"\n")[0] + b"\n"
        is_shortened = True


def write(mark: "str", value: "dict[str, object]") -> None:
    """Prints it in parts: SLURM mixes longer lines with lines of other tasks (22.05, slurmstepd/io.c)."""
    text = json.dumps(dict(value, host=socket.gethostname()))
    parts = [text[at : at + LONGEST_PART] for at in range(0, len(text), LONGEST_PART)]
    key = f"{socket.gethostname()[:64]}/{os.getpid()}/{next(NUMBERS)}"
    lines = [f"{mark} {key} {len(parts)} {part}\n" for part in parts]
    sys.stdout.write("\n" + "".join(lines))


def folders_of(job: str, since: float) -> "list[Path]":
    """The folders with the logs of the job's Ray:

    1. Those that processes of the job name, as raylet and GCS do, in the file system that they see.
    2. Without any, which is so after Ray has ended: sessions of this user that were written since the job started, unless
       processes of another job name them.
    """
    own = set()  # type: set[Path]
    others = set()  # type: set[Path]
    for process in Path("/proc").glob("[0-9]*"):
        folder = named_folder(process)
        if folder:
            (own if job_of(process) == job else others).add(place_of(process, folder))
    if own:
        return distinct(own)
    named = [os.environ.get(name, "") for name in ("RAY_TMPDIR", "TMPDIR")]
    parents = [Path(place, "ray") for place in [*named, tempfile.gettempdir()] if place]
    sessions = [path for parent in parents for path in listed(parent)]
    logs = {
        real(str(path / "logs"))
        for path in sessions
        if path.name.startswith("session_") and not path.is_symlink()
    }
    return sorted(folder for folder in logs - others if logs_in(folder, since))


def real(path: str) -> Path:
    return Path(os.path.realpath(path))


def place_of(process: Path, folder: str) -> Path:
    """A folder as this process reaches it: in a container, through the root of the one that names it."""
    try:
        is_own = (process / "ns/mnt").stat().st_ino == Path("/proc/self/ns/mnt").stat().st_ino
    except OSError:
        is_own = True
    # A link there would lead into the file system of this process: it isn't followed.
    return real(folder) if is_own else Path(f"{process}/root{os.path.normpath(folder)}")


def distinct(folders: "set[Path]") -> "list[Path]":
    """Each folder once: all processes of a container name it by their own root."""
    by_place = {}  # type: dict[tuple[int, int], Path]
    for folder in sorted(folders):
        try:
            status = folder.lstat()
        except OSError:
            continue
        by_place.setdefault((status.st_dev, status.st_ino), folder)
    return sorted(by_place.values())


def shown(path: Path, names: "set[str]") -> str:
    """The path of a log in its container, unless another container has one by this name."""
    name = ROOT.sub("", str(path), count=1)
    name = str(path) if name in names else name
    names.add(name)
    return name


def named_folder(process: Path) -> str:
    """The folder for logs that a process of this user has as an argument, "" for any other process."""
    try:
        if process.stat().st_uid != os.getuid():
            return ""
        with (process / "cmdline").open("rb") as file:  # kernel's file
            arguments = os.fsdecode(file.read(2**16)).split("\0")
    except OSError:
        return ""
    matches = filter(None, map(LOG_FOLDER.fullmatch, arguments))
    return next((match.group(1) for match in matches), "")


def job_of(process: Path) -> str:
    try:
        with (process / "environ").open("rb") as file:  # kernel's file
            variables = file.read(2**20).split(b"\0")
    except OSError:
        return ""
    name = b"SLURM_JOB_ID="
    values = (each[len(name) :] for each in variables if each.startswith(name))
    return os.fsdecode(next(values, b""))


def listed(folder: Path) -> "list[Path]":
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def logs_in(folder: Path, since: float) -> "list[Path]":
    """Logs that hold messages, of this user, written since then."""
    return [
        path
        for path in listed(folder)
        if any(fnmatch.fnmatch(path.name, glob) for glob in LOGS)
        and not fnmatch.fnmatch(path.name, OWN)
        and is_own_log(path, since)
    ]


def is_own_log(path: Path, since: float) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
    return is_own and bool(status.st_size) and status.st_mtime >= since


def rank_of(path: Path) -> "tuple[int, Path]":
    kind = next(at for at, glob in enumerate(LOGS) if fnmatch.fnmatch(path.name, glob))
    return kind, path


class Excerpts:
    """Lines with signs of trouble, each with those near it."""

    def __init__(self, signs: "dict[str, list[Any]]") -> None:
        self.is_cut = False
        self.markers = [text.encode("utf-8") for text in signs["markers"]]
        self.rules = [
            ([text.encode("utf-8") for text in literals], compiled(pattern))
            for literals, pattern in signs["rules"]
        ]
        literals = [text for texts, _ in self.rules for text in texts]
        self.literals = list(dict.fromkeys([*literals, *self.markers]))
        self.forms = [text.encode("utf-8") for text in signs["forms"]]
        self.compiled_forms = [re.compile(form, re.MULTILINE) for form in self.forms]

    def of(self, path: Path) -> "tuple[bytes, bool]":
        """The excerpt of a log, b"" without a sign, and whether the log was only read in part."""
        fd = os.open(str(path), FLAGS)
        try:
            size = os.fstat(fd).st_size
            self.is_cut = size > LARGEST
            if not self.is_cut:
                return self.excerpt(os.pread(fd, size, 0)), self.is_cut
            end = LARGEST - LARGEST // 4
            text = self.excerpt(os.pread(fd, LARGEST // 4, 0))
            rest = self.excerpt(os.pread(fd, end, size - end))
        finally:
            os.close(fd)
        gap = b"... a part of this log was not read ...\n"
        return (text + gap + rest if rest else text), self.is_cut

    def excerpt(self, data: bytes) -> bytes:
        counts = {}  # type: dict[int, int]
        ranges = []  # type: list[tuple[int, int]]
        # The first sign of each line, by the start of the line.
        signs = {}  # type: dict[int, int]
        for offset in offsets_of(data, self.literals, self.forms):
            start = data.rfind(b"\n", 0, offset) + 1
            if start in signs:
                continue
            if len(signs) >= MOST_TRIED:
                self.is_cut = True
                break
            signs[start] = offset
            window = data[max(start, offset - REACH) : offset + 2 * REACH].partition(b"\n")[0]
            if self.counts(window, counts):
                after = TRACE if TRACEBACK in window else AFTER
                ranges.append(near(data, offset, after))
        return joined(data, ranges, signs)

    def counts(self, window: bytes, counts: "dict[int, int]") -> bool:
        """Whether the line is one of the first of its rule, or of the errors that no rule explains."""
        text = window.decode("utf-8", "replace")
        rules = [
            number
            for number, (literals, pattern) in enumerate(self.rules)
            if any(literal in window for literal in literals)
            and (pattern is None or pattern.search(text))
        ]
        if not rules and self.has_marker(window):
            rules = [-1]
        for rule in rules:
            counts[rule] = counts.get(rule, 0) + 1
        return any(counts[rule] <= (MOST_OF_RULE if rule >= 0 else MOST_UNKNOWN) for rule in rules)

    def has_marker(self, window: bytes) -> bool:
        return any(marker in window for marker in self.markers) or any(
            form.search(window) for form in self.compiled_forms
        )


def compiled(pattern: str) -> "re.Pattern[str] | None":
    """None for what only a newer Python understands: then each line with a literal counts."""
    try:
        return re.compile(pattern)
    except re.error:
        return None


def offsets_of(data: bytes, literals: "list[bytes]", forms: "list[bytes]") -> "list[int]":
    """Where literals and forms are, in their order: by grep, or without it by Python."""
    escaped = [SPECIAL.sub(rb"\\\g<0>", each) for each in literals]
    pattern = b"\n".join([*escaped, *forms, NO_LITERAL])
    try:
        ran = subprocess.run(
            [GREP, "-aobE", "-e", pattern],
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ, LC_ALL="C"),
            timeout=LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        ran = None
    if ran is not None and ran.returncode in (0, 1):
        return [int(line.partition(b":")[0]) for line in ran.stdout.splitlines()]
    searched = [re.escape(each) for each in literals] + forms
    return sorted(
        match.start() for each in searched for match in re.finditer(each, data, re.MULTILINE)
    )


def near(data: bytes, offset: int, after: int) -> "tuple[int, int]":
    """From the start of an earlier line to the end of a later one."""
    start = data.rfind(b"\n", 0, offset) + 1
    for _ in range(BEFORE):
        if not start:
            break
        start = data.rfind(b"\n", 0, start - 1) + 1
    end = offset
    for _ in range(after + 1):
        line_end = data.find(b"\n", end)
        if line_end < 0:
            return start, len(data)
        end = line_end + 1
    return start, end


def joined(data: bytes, ranges: "list[tuple[int, int]]", signs: "dict[int, int]") -> bytes:
    """The lines of these ranges once; what is between them is counted."""
    made = []
    place = 0
    for start, end in ranges:
        if start > place:
            made.append(b"... %d lines left out ...\n" % data.count(b"\n", place, start))
        place = max(start, place)
        while place < end:
            line_end = data.find(b"\n", place, end)
            line = data[place : line_end if line_end >= 0 else end]
            made.append(short(line, signs.get(place, place) - place) + b"\n")
            place += len(line) + 1
    return b"".join(made)


def short(line: bytes, sign: int) -> bytes:
    """A part of a long line, around its sign, without words that would be cut: half of a secret isn't recognised as one."""
    if len(line) <= LONGEST_LINE:
        return line
    start = max(0, sign - LONGEST_LINE // 2)
    part = line[start : start + LONGEST_LINE]
    part = part.partition(b" ")[2] if start else part
    return part.rpartition(b" ")[0] if start + LONGEST_LINE < len(line) else part


if __name__ == "__main__":
    main(sys.argv[1:])
