"""The editor's requests about pictures: taken of processes and clusters, saved, opened, compared, as Markdown."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.adapter_client.client import AdapterClient
from eagleray.common.errors import EaglerayError
from eagleray.observe.hangs import handlers, messages
from eagleray.observe.hangs.model import PictureTarget
from eagleray.observe.hangs.pictures import Pictures
from eagleray.observe.hangs.waiting_ranks import PausedSentences
from eagleray.ray.dashboard import Dashboard
from eagleray.runs.adapter_gateway import AdapterRunGateway
from eagleray.runs.model import RunPlan, RunState
from eagleray.runs.records import RunRecords
from eagleray.runs.runs import Runs
from eagleray.slurm.client import SlurmClient
from eagleray.slurm.queue import SlurmQueue
from eagleray.tools.commands import Commands
from eagleray.tools.shared_cache import SharedAnswers
from eagleray.wire.requests import RequestServer

from tests.observe.hangs.paused import PausedList

NONE = 2**22 - 1
GIVEN = Path(__file__).with_name("given")
WAITS = "import time; print('ready', flush=True); time.sleep(600)"


class Asked:
    """A window that asks for pictures; `reached` are the clusters that it wanted, `progress` what it was shown."""

    def __init__(self, folder: Path) -> None:
        self.reached: list[str] = []
        self.progress: list[tuple[str, int | None]] = []
        self.records = RunRecords(folder)
        adapters = AdapterClient()
        runs = Runs(self.records, AdapterRunGateway(adapters))
        commands = Commands(adapters.routes.run, argv_over_ssh=adapters.routes.argv)
        slurm = SlurmClient(commands)
        queue = SlurmQueue(slurm, SharedAnswers())
        self.pictures = Pictures(self._dashboard, runs, commands, slurm, queue)
        self._requests = RequestServer()
        self.workers = PausedList()
        sentences = PausedSentences(self.workers, self._nothing, lambda: False)
        handlers.register(self._requests, self.pictures, sentences)

    async def ask(self, request: Any, params: object) -> Any:
        def report(message: str, percentage: int | None = None) -> None:
            self.progress.append((message, percentage))

        return await self._requests.call(request.method, params, report)

    async def _nothing(self, _group: object) -> None:
        return None

    async def _dashboard(self, cluster: str, say: Any) -> Dashboard:
        self.reached.append(cluster)
        say("Connecting…")
        raise EaglerayError("cluster-unreachable", "It does not answer.")


@pytest.fixture
async def window(tmp_path: Path) -> AsyncIterator[Asked]:
    folder = tmp_path / "runs"
    folder.mkdir(mode=0o700)
    made = Asked(folder)
    yield made
    await made.pictures.close()


@pytest.fixture
def program() -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [sys.executable, "-c", WAITS], stdout=subprocess.PIPE, text=True, env={}
    )
    assert started.stdout is not None and started.stdout.readline() == "ready\n"
    yield started
    started.kill()
    started.wait()


async def test_picture_of_processes_is_taken_with_progress_and_kept_in_a_file(
    window: Asked, program: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = await window.ask(messages.PICTURE, {"pids": [program.pid]})
    assert window.progress == [
        ("Sample 1 of 3 taken", 33),
        ("Sample 2 of 3 taken", 67),
        ("Sample 3 of 3 taken", 100),
    ]
    assert [row["pid"] for row in taken["ranks"]] == [program.pid]
    path = str(tmp_path / "picture.json")
    assert await window.ask(messages.SAVE, {"path": path, "picture": taken}) == {}
    assert await window.ask(messages.OPEN, {"path": path}) == taken
    same = await window.ask(messages.COMPARE, {"path": path, "picture": taken})
    assert same == {"sentences": ["No rank has moved between the two pictures."]}
    text = (await window.ask(messages.MARKDOWN, taken))["text"]
    first, sentence, *_ = text.split("\n\n")
    assert first.startswith(f"Stacks of process {program.pid}, taken at 20")
    # Markdown escapes `<module>`.
    assert sentence.replace("\\", "") == f"**{taken['verdict']['sentence']}**"


async def test_frames_say_which_are_code_of_the_user(window: Asked, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import threading\ndef fit():\n    threading.Event().wait()\nprint(flush=True)\nfit()\n"
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as started:
        assert started.stdout is not None and started.stdout.readline()
        taken = await window.ask(messages.PICTURE, {"pids": [started.pid]})
        started.kill()
    [stack] = taken["classes"]
    users = {frame["function"]: frame["users"] for frame in stack["frames"]}
    assert users["fit"] is True
    assert [name for name, is_users in users.items() if "wait" in name and is_users] == []


async def test_cluster_is_reached_by_its_id_and_its_error_is_passed_on(window: Asked) -> None:
    with pytest.raises(EaglerayError) as failed:
        await window.ask(messages.PICTURE, {"cluster": "http://c:1"})
    assert failed.value.code == "cluster-unreachable"
    assert (window.reached, window.progress) == (["http://c:1"], [("Connecting…", None)])


async def test_run_with_a_cluster_is_sampled_there(window: Asked) -> None:
    run = window.records.create(PLAN, RunState("running", 1.0, cluster="http://c:2"))
    with pytest.raises(EaglerayError):
        await window.ask(messages.PICTURE, {"run_id": run.id})
    assert window.reached == ["http://c:2"]


PLAN = RunPlan(kind="program", argv=("python", "train.py"), cwd="/w", name="train.py")


@pytest.mark.parametrize(
    ("phase", "code"), [("exited", "run-over"), ("running", "run-not-sampled")]
)
async def test_run_without_cluster_and_program_is_not_sampled(
    window: Asked, phase: Any, code: str
) -> None:
    run = window.records.create(PLAN, RunState(phase, 1.0))
    with pytest.raises(EaglerayError) as failed:
        await window.ask(messages.PICTURE, {"run_id": run.id})
    assert failed.value.code == code


async def test_processes_that_do_not_run_are_named_at_once(window: Asked) -> None:
    with pytest.raises(EaglerayError) as failed:
        await window.ask(messages.PICTURE, {"pids": [NONE]})
    assert failed.value.code == "no-processes"
    assert window.progress == []


async def test_target_without_anything_is_refused(window: Asked) -> None:
    with pytest.raises(EaglerayError) as failed:
        await window.pictures.take(PictureTarget())
    assert failed.value.code == "no-target"


async def test_stacks_that_others_have_dumped_are_judged(window: Asked, tmp_path: Path) -> None:
    ranks = [GIVEN / f"straggler.rank{rank}.txt" for rank in range(4)]
    damaged = tmp_path / "more.zip"
    damaged.write_bytes(b"PK\x03\x04")
    paths = [*map(str, ranks), str(damaged)]
    of_files = await window.ask(messages.OF_STACKS, {"paths": paths, "text": ""})
    assert of_files["picture"]["verdict"]["kind"] == "wait-chain"
    assert of_files["unread"] == [{"name": str(damaged), "reason": "damaged"}]
    copied = "\n".join(
        f"[rank{rank}]: {line}"
        for rank, path in enumerate(ranks)
        for line in path.read_text().splitlines()
    )
    of_text = await window.ask(messages.OF_STACKS, {"paths": [], "text": copied})
    assert of_text["picture"]["verdict"] == of_files["picture"]["verdict"]


async def test_picture_that_cannot_be_written_or_read_is_an_error_with_a_next_step(
    window: Asked, tmp_path: Path
) -> None:
    path = str(tmp_path / "none" / "picture.json")
    empty = {
        "version": 1,
        "taken_at": 1,
        "verdict": {
            **dict.fromkeys(("kind", "culprits", "sentence", "next_step", "group"), ""),
            "confidence": 0,
            "readings": [],
        },
        "classes": [],
        "ranks": [],
        "coverage": {"processes": 0, "unseen": [], "nodes": []},
    }
    for request, params, code in (
        (messages.SAVE, {"path": path, "picture": empty}, "picture-not-saved"),
        (messages.OPEN, {"path": path}, "no-picture"),
        (messages.OF_STACKS, {"paths": [path], "text": ""}, "no-stacks"),
        (messages.OF_STACKS, {"paths": [], "text": "Hello"}, "no-stacks"),
        (messages.COMPARE, {"path": path, "picture": empty}, "no-picture"),
    ):
        with pytest.raises(EaglerayError) as failed:
            await window.ask(request, params)
        assert failed.value.code == code
        assert failed.value.next_step


async def test_picture_of_workers_that_run_again_is_gone(window: Asked) -> None:
    group = {"cluster": "http://c:1", "title": "Policy.train", "post_mortem": False}
    with pytest.raises(EaglerayError, match="no longer paused"):
        await window.ask(messages.OF_GROUP, group)


async def test_processes_of_this_machine_have_commands_and_ages(window: Asked) -> None:
    code = "import sys; sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "--api-key", "sk-1234567890abcdef"], stdin=subprocess.PIPE
    ) as program:
        listed = await window.ask(messages.PROCESSES, None)
        program.communicate()
    found = next(each for each in listed["processes"] if each["pid"] == program.pid)
    assert "sys.stdin.read()" in found["command"]
    assert "sk-1234567890abcdef" not in found["command"]
    assert 0 <= found["age_s"] < 600
