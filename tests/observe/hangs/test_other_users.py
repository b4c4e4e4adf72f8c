"""Pictures of processes that belong to another user: each is listed with the reason, and none is judged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.tools.pyspy import find_program

from tests.adapter.other_user import NOBODY
from tests.observe.hangs.test_pictures_here import WAITING, ranks, states

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root, whose processes another user asks for"
)

# The interpreter may be in a folder of root, so it becomes another user only when it has loaded all that the command needs.
# The second command is an ancestor of none of the processes, the first of all that are sampled.
AS_OTHER_USER = """
import os, sys
from eagleray.cli.main import main
from eagleray.observe.hangs.collecting import local
user, home, py_spy = int(sys.argv[1]), sys.argv[2], sys.argv[3]
local.find_program = lambda: py_spy
main(["stacks", "--json", "--seconds", "0.01", "--pids", str(os.getpid())])
print("----", flush=True)
os.environ["HOME"] = os.environ["EAGLERAY_HOME"] = home
os.setgroups([]); os.setgid(user); os.setuid(user)
sys.exit(main(["stacks", "--seconds", "0.01", "--exit-code", *sys.argv[4:]]))
"""


@pytest.fixture
def others_home() -> Iterator[Path]:
    """A folder of the other user, with a py-spy that it may run; the tests' py-spy is closed to it."""
    with tempfile.TemporaryDirectory(prefix="eagleray-other-") as folder:
        home = Path(folder)
        shutil.copy(find_program(), home / "py-spy")
        os.chown(home, NOBODY, NOBODY)
        yield home


def asked(home: Path, *arguments: str) -> tuple[int, str]:
    """The exit code and output of `eagleray stacks` as another user."""
    words = [sys.executable, "-c", AS_OTHER_USER, str(NOBODY), str(home), str(home / "py-spy")]
    done = subprocess.run(
        [*words, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert "----\n" in done.stdout, done.stderr
    return done.returncode, done.stdout.partition("----\n")[2]


def test_ranks_of_another_user_are_listed_with_the_reason_and_not_judged(others_home: Path) -> None:
    with ranks(WAITING, 2) as started:
        pids = [process.pid for process in started]
        code, output = asked(others_home, "--json", "--pids", *map(str, pids))
        text_code, text = asked(others_home, "--pids", *map(str, pids))
        assert states(pids) == ["S", "S"]
    taken = json.loads(output)
    assert taken["coverage"]["seen"] == 0
    listed = [(each["rank"], each["reason"]) for each in taken["coverage"]["unseen"]]
    assert sorted(listed) == [(pid, "permission") for pid in sorted(pids)]
    assert (taken["verdict"]["kind"], taken["verdict"]["culprits"], code) == ("unknown", "", 1)
    sentence, step, *_, last = text.splitlines()
    assert (sentence, text_code) == ("None of the processes could be read.", 1)
    assert step == "Take the picture as the user who runs them, or as root."
    assert last.startswith("Not seen: processes ")
    assert last.endswith(" (reading it is not allowed)")
    assert all(str(pid) in last for pid in (pids[0], pids[-1]))
