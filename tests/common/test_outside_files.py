"""Files whose paths came from outside: what waits, never ends or isn't a file is an error at once, at every place."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from eagleray.remote.injected.outside_files import content_of, opened, opened_text, whole

from tests.remote.inspecting.test_processes import python

NOT_FILES = [
    "/dev/zero",
    "/dev/stdin",
    "/proc/kmsg",
    "/proc/self/environ",
    "/sys/kernel/notes",
    "/",
]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.py"
    os.mkfifo(path)
    return path


def test_file_is_read_up_to_a_bound_and_through_links(tmp_path: Path) -> None:
    file, link = tmp_path / "a", tmp_path / "b"
    file.write_bytes(b"12345\xff")
    link.symlink_to(file)
    assert content_of(link, 3) == b"123"
    assert whole(file, 6) == b"12345\xff"
    with pytest.raises(OSError, match="too large"):
        whole(file, 5)
    with opened_text(file) as text:
        assert text.read() == "12345\ufffd"


@pytest.mark.parametrize("path", NOT_FILES)
def test_other_than_a_file_is_an_error_at_once(path: str) -> None:
    with pytest.raises(OSError, match="Not a regular file"):
        opened(path)


def test_pipe_socket_and_impossible_path_are_errors_at_once(pipe: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path in (pipe, tmp_path / "socket", "a\0b", "x" * 5000, tmp_path / "missing"):
            with pytest.raises(OSError):
                opened(path)


def test_no_descriptor_is_left(pipe: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in (pipe, Path("/dev/zero"), Path(__file__)):
        try:
            opened(path).close()
        except OSError:
            continue
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# A function whose code claims to be in a file that is something else, which hangs in that frame.
CLAIMING = """
import sys
source = '''
def fit(step):
    try:
        raise ValueError(step)
    except ValueError:
        print("ready", flush=True)
        sys.stdin.readline()
'''
names = {{"sys": sys, "__name__": "train"}}
exec(compile(source, {path!r}, "exec"), names)
names["fit"](7)
"""

# A device without an end would reach the limit of memory.
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30,) * 2)
from eagleray.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("path", ["", "/dev/zero"])
def test_picture_of_a_process_whose_code_is_in_a_pipe_or_device_comes(
    path: str, pipe: Path, tmp_path: Path
) -> None:
    with python(CLAIMING.format(path=path or str(pipe))) as process:
        words = ["stacks", "--pids", str(process.pid), "--seconds", "0.01", "--inside"]
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, *words],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "EAGLERAY_HOME": str(tmp_path)},
        )
        assert "fit" in done.stdout, done.stderr
        assert process.communicate("\n", timeout=30)[1] == ""
