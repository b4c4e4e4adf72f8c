"""Unpacks the code that samples a node, starts it, and leaves no file behind.

Sent as text to `python3 -I -c`, by srun or ssh.  Its input is a line of JSON and a zip of the packages `sampling` and
`inspecting` with py-spy.  It needs only Python 3.6; `sampling` needs 3.9, so with an older one it hands over to a Python that a process of
this user runs.  The folder is private, and removed before the first sample: what is open is used further.
"""

import contextlib
import importlib
import io
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import zipfile
from pathlib import Path

NEEDED = (3, 9)
PROGRAM = "sampling/py-spy"
ORDER = "order.json"
# Begins the message of a Python that is too old, and finds no other.
TOO_OLD = "eagleray: too old for sampling: Python "


def main(arguments: "list[str]") -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    folder = arguments[0] if arguments else ""
    try:
        if not folder:
            stream = sys.stdin.buffer
            order = json.loads(stream.readline().decode())
            archive = stream.read(order["size"])
            if len(archive) < order["size"]:
                return
            folder = unpacked(archive)
            Path(folder, ORDER).write_text(json.dumps(order))
            if sys.version_info < NEEDED:
                hand_over(folder, order["text"])
        order = json.loads(Path(folder, ORDER).read_text())  # own file
        sys.path.insert(0, folder)
        sys.dont_write_bytecode = True
        module = importlib.import_module(order["package"] + ".sampling.step_main")
        records = importlib.import_module(order["package"] + ".inspecting.flight_record_socket")
        read = None
        if order["inside"]:
            read = importlib.import_module(
                order["package"] + ".inspecting.process_answers"
            ).raw_readings
        program = opened(Path(folder, order["package"], PROGRAM))
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    module.main(order, program, read, records.served_records)


def unpacked(archive: bytes) -> str:
    """A private folder with the content of the zip, in which programs may be executed if there is such a place."""
    made = ""
    for place in (tempfile.gettempdir(), "/var/tmp", "/dev/shm", str(Path.home())):  # noqa: S108
        try:
            folder = tempfile.mkdtemp(prefix="eagleray-", dir=place)
        except OSError:
            continue
        try:
            programs = extract(archive, folder)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            continue
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        if made:
            shutil.rmtree(made, ignore_errors=True)
        made = folder
        if all(os.access(str(program), os.X_OK) for program in programs):
            return made
    if not made:
        raise OSError("no folder for temporary files")
    return made


def extract(archive: bytes, folder: str) -> "list[Path]":
    """The programs of the archive, once it is in the folder."""
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        files.extractall(folder)
    programs = list(Path(folder).glob("*/" + PROGRAM))
    for program in programs:
        program.chmod(0o700)
    return programs


def opened(program: Path) -> str:
    """A path that starts `program` also once its file is removed; "" if there is none."""
    with contextlib.suppress(OSError):
        return f"/proc/{os.getpid()}/fd/{os.open(str(program), os.O_RDONLY)}"  # own file
    return ""


def hand_over(folder: str, text: str) -> None:
    """Goes on in a newer Python, to which the folder then belongs; fails if no process of this user runs one."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            program = os.readlink(str(process / "exe"))  # noqa: PTH115
            is_own = process.stat().st_uid == os.geteuid()
        except OSError:
            continue
        version = re.search(r"/python3\.([0-9]+)$", program)
        if is_own and version and (3, int(version.group(1))) >= NEEDED:
            os.execv(program, [program, "-I", "-c", text, folder])  # noqa: S606
    sys.exit(TOO_OLD + sys.version.split()[0])


if __name__ == "__main__":
    main(sys.argv[1:])
