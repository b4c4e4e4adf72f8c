"""No request of the sidecar makes a file call in the event loop: a home that hangs holds up only what needs it."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.adapter_client import process
from eagleray.adapter_client.client import AdapterClient
from eagleray.app import Settings
from eagleray.clusters import messages as clusters
from eagleray.common import l10n
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.debug.attaching import messages as debugging
from eagleray.debug.pdb import messages as pdb
from eagleray.debug.source_mapping import messages as source_mapping
from eagleray.debug.workers import messages as workers
from eagleray.doctor import messages as doctor
from eagleray.observe.hangs import messages as hangs
from eagleray.observe.look_inside import messages as inspections
from eagleray.page import messages as pages
from eagleray.profile.recordings import messages as profiling
from eagleray.profile.reports import messages as reports
from eagleray.protocol.adapter_control import AttachParams
from eagleray.rollouts import messages as rollouts
from eagleray.rollouts.servers import messages as inference
from eagleray.runs import messages as runs
from eagleray.runs.presets import messages as presets
from eagleray.sidecar.features import build_server
from eagleray.sidecar.server import Sidecar
from eagleray.sidecar.typescript import FEATURES, requests_of
from eagleray.wire.requests import Notification, RequestServer
from lsprotocol import types

from tests.fakes.adapter import FakeAdapter
from tests.fakes.dashboard import FakeDashboard
from tests.sidecar.file_calls import FileCalls, recorded
from tests.sidecar.stdio_client import Method, method_name

PRESET = {"format": 1, "name": "mine", "framework": "", "answers": {}, "words": [], "env": {}}
LINE = {"line": 1, "condition": "", "hit": "", "log": ""}


class Panel:
    """A window: asks, and remembers which methods it has asked."""

    def __init__(self, requests: RequestServer) -> None:
        self.asked: set[str] = set()
        self.told: list[tuple[str, Any]] = []
        self._requests = requests

    async def ask(self, request: Method, **params: Any) -> Any:
        """The result, None for an error of the catalogue."""
        method = method_name(request)
        self.asked.add(method)
        try:
            return await self._requests.call(method, params, lambda *said: None)
        except EaglerayError as error:
            assert error.code != "internal", (method, error)
            return None


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_home: Path) -> Iterator[FileCalls]:
    """The calls below the user's home, the state folder and the workspace."""
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host login\n")
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("right")
    (tmp_path / "train.py").write_text("raise SystemExit('it failed')\n")
    (tmp_path / "job.sh").write_text("#SBATCH -N1\nsrun --export=NONE python train.py\n")
    (tmp_path / "worker.err").write_text("OSError: [Errno 24] Too many open files: 'x'\n")
    (tmp_path / "dump.jsonl").write_text('{"prompt": "2+2", "completion": "4", "reward": 1}\n')
    row = {"token_ids": [1, 2], "mask": [0, 1], "logprobs": [0, -1], "trainer_logprobs": [0, -1]}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    access = own_home / "access.json"
    access.write_text("{}")
    access.chmod(0o600)
    with recorded(monkeypatch, own_home, tmp_path) as calls:
        yield calls


@pytest.fixture
async def panel(
    dashboard: FakeDashboard, fake_adapter: FakeAdapter, files: FileCalls
) -> AsyncIterator[Panel]:
    dashboard.token = "right"
    # As the server does.
    requests = await off_loop(lambda: build_server(Settings()))
    window = Panel(requests)
    requests.start(lambda method, value: window.told.append((method, value)))
    yield window
    await requests.stop()


def all_requests() -> set[str]:
    modules = [importlib.import_module(f"eagleray.{name}.messages") for name in FEATURES]
    return {
        request.method
        for module in modules
        for request in requests_of(module).values()
        if not isinstance(request, Notification)
    }


async def ask_about_clusters(panel: Panel, cluster: str, folder: Path) -> None:
    await panel.ask(clusters.LIST)
    await panel.ask(clusters.REFRESH)
    await panel.ask(clusters.SET_ACCESS, cluster=cluster, token="right")
    await panel.ask(clusters.ADD, address=cluster)
    await panel.ask(clusters.ID_OF, cluster=cluster)
    await panel.ask(clusters.CHOICES)
    await panel.ask(clusters.LOOK_AT, host="login")
    await panel.ask(clusters.FORGET_HOST, host="login")
    await panel.ask(clusters.RECONNECT, cluster=cluster)
    await panel.ask(clusters.RENAME, cluster=cluster, name="mine")
    await panel.ask(clusters.DASHBOARD, cluster=cluster)
    await panel.ask(clusters.TERMINAL, cluster=cluster)
    await panel.ask(clusters.ANSWER, id=1, text="yes")


async def ask_about_workers(panel: Panel, cluster: str, worker: str) -> None:
    of_worker = {"cluster": cluster, "worker_id": worker}
    log = {**of_worker, "stream": "err"}
    await panel.ask(workers.WATCH, visible=True)
    await panel.ask(workers.REFRESH)
    await panel.ask(workers.ALL, cluster=cluster)
    await panel.ask(workers.OPEN_LOG, **log, lines=10)
    await panel.ask(workers.FOLLOW_LOG, **log, follow_id="f")
    await panel.ask(workers.STOP_FOLLOWING, follow_id="f")
    await panel.ask(
        workers.SEARCH_LOGS,
        cluster=cluster,
        worker_ids=[],
        pattern="x",
        regex=False,
        match_case=False,
    )
    await panel.ask(pdb.LIST, cluster=cluster)
    await panel.ask(pdb.TERMINAL, cluster=cluster, id="1")
    of_cluster = {"pid": 1, "cluster": cluster, "node_id": "", "worker_id": "w", "name": "w"}
    for target in (of_cluster, {**of_cluster, "cluster": "", "pid": os.getpid()}):
        await panel.ask(
            inspections.OPEN, target={**target, "pausable": False}, workspace_folders=[]
        )


async def ask_about_debugging(panel: Panel, cluster: str, worker: str, folder: Path) -> None:
    named = {"cluster": cluster, "worker_ids": [worker]}
    place = {"cluster": cluster, "path": "/remote/train.py", "line": 24}
    file = {"cluster": cluster, "worker_id": worker, "path": "/remote/train.py"}
    folders = [str(folder)]
    await panel.ask(debugging.ATTACH, cluster=cluster, worker=worker, workspace_folders=folders)
    await panel.ask(source_mapping.RESOLVE, **file, workspace_folders=folders)
    await panel.ask(source_mapping.SET_FOLDER, cluster=cluster, remote="/remote", local=str(folder))
    await panel.ask(source_mapping.MAPPINGS, cluster=cluster)
    await panel.ask(source_mapping.CONFIGURE, mappings={})
    await panel.ask(source_mapping.COMPARE, **file, local=str(folder / "train.py"))
    await panel.ask(source_mapping.WORKER_FILE, **file, local="")
    await panel.ask(debugging.IGNORE, **named)
    (ignored,) = (await panel.ask(debugging.IGNORED))["ignored"]
    assert place.items() <= ignored.items()
    await panel.ask(debugging.FORGET_IGNORED, **ignored)
    await panel.ask(debugging.CONTINUE_OTHERS, **named)
    await panel.ask(debugging.CONTINUE, **named)
    await panel.ask(debugging.RELEASE, **named)


async def ask_about_runs(panel: Panel, folder: Path) -> None:
    workspace = str(folder)
    # The program would wait at a line of its own for an adapter that attaches.
    lines = [{"path": str(folder / "never_imported.py"), "lines": [LINE]}]
    await panel.ask(presets.LIST_PRESETS, workspace=workspace)
    await panel.ask(presets.SAVE_PRESET, workspace=workspace, name="", text=json.dumps(PRESET))
    proposal = await panel.ask(
        presets.PREPARE,
        path="train.py",
        args=[],
        cwd=workspace,
        python=sys.executable,
        workspace=workspace,
        options={"breakpoints": lines},
    )
    await panel.ask(
        presets.PREPARE, path="", args=["sbatch", "job.sh"], cwd=workspace, workspace=workspace
    )
    await panel.ask(presets.CHECK, path="train.py", args=[], cwd=workspace, workspace=workspace)
    await panel.ask(
        presets.COMPOSE,
        path="train.py",
        args=[],
        cwd=workspace,
        workspace=workspace,
        preset="debug",
    )
    await panel.ask(presets.DELETE_PRESET, workspace=workspace, name="mine")
    run = await panel.ask(runs.START, plan=proposal["plan"], anyway=True)
    await panel.ask(runs.LIST)
    await panel.ask(runs.PYTHONS)
    await panel.ask(runs.INTERPRETER, python=sys.executable, cwd="/")
    await panel.ask(runs.COMMAND, **run)
    await panel.ask(runs.BREAKPOINTS, workspace=workspace, breakpoints=lines)
    await panel.ask(runs.PAUSE, run=run["id"], worker_id="w")
    await panel.ask(profiling.LIST)
    await panel.ask(profiling.RECORD, run=run["id"])
    await panel.ask(profiling.STOP, run=run["id"])
    await panel.ask(profiling.GATHER, run=run["id"])
    offset, is_over = -1, False
    while not is_over:
        piece = await panel.ask(runs.OUTPUT, **run, offset=offset)
        offset, is_over = piece["next"], piece["is_over"]
    listed = await panel.ask(runs.LIST)
    assert "it failed" in [item["reason"] for item in listed["runs"]]
    again = await panel.ask(runs.RESTART, **run, anyway=True)
    await panel.ask(runs.STOP, **again)
    await panel.ask(runs.FORGET, **run)


async def ask_about_reports(panel: Panel, cluster: str, folder: Path) -> None:
    of_table = {"path": str(folder / "none.nsys-rep"), "table": "kernels"}
    await panel.ask(reports.REPORT, path=of_table["path"])
    await panel.ask(reports.TABLE, **of_table)
    await panel.ask(reports.REPORT_TEXT, path=of_table["path"])
    await panel.ask(reports.TABLE_TEXT, **of_table, format="csv")
    await panel.ask(profiling.WORKERS, cluster=cluster, patterns=["*"])


async def ask_about_hangs(panel: Panel, cluster: str, folder: Path) -> None:
    path = str(folder / "picture.json")
    texts = dict.fromkeys(("kind", "culprits", "sentence", "next_step", "group"), "")
    picture: dict[str, Any] = {
        "version": 1,
        "taken_at": 1.0,
        "verdict": {**texts, "confidence": 0.0, "readings": []},
        "classes": [],
        "ranks": [],
        "coverage": {"processes": 0, "unseen": [], "nodes": [], "workers": ""},
        "inside": [],
    }
    await panel.ask(hangs.PROCESSES)
    await panel.ask(hangs.PICTURE, pids=[2**22 - 1])
    await panel.ask(hangs.PICTURE, cluster=cluster)
    await panel.ask(hangs.SAVE, path=path, picture=picture)
    # A picture has no stacks as others dump them.
    assert await panel.ask(hangs.OF_STACKS, paths=[path], text="") is None
    opened = await panel.ask(hangs.OPEN, path=path)
    assert opened["verdict"] == picture["verdict"]
    await panel.ask(
        pages.EXPORT, path=f"{path}.html", page="picture_page", title="a", messages="[]"
    )
    await panel.ask(hangs.COMPARE, path=path, picture=picture)
    await panel.ask(hangs.MARKDOWN, **picture)
    await panel.ask(hangs.OF_GROUP, cluster=cluster, title="Policy.train", post_mortem=False)


async def ask_about_servers(panel: Panel, folder: Path) -> None:
    command = f"{sys.executable} -c pass"
    started = await panel.ask(inference.START, command=command, cwd=str(folder), name="mine")
    listed = await panel.ask(inference.LIST)
    assert [server["run"] for server in listed["servers"]] == [started["run"]]
    added = await panel.ask(inference.ADD, url="http://127.0.0.1:9")
    assert (added["state"], added["reason"]) == (
        "unhealthy",
        "The server doesn't answer at http://127.0.0.1:9/v1.",
    )
    await panel.ask(inference.REMOVE, name=added["name"])
    variables = await panel.ask(inference.VARIABLES, name="http://127.0.0.1:9/v1")
    assert variables["variables"]["OPENAI_API_KEY"] == "EMPTY"
    await panel.ask(runs.STOP, id=started["run"])


async def ask_about_rollouts(panel: Panel, folder: Path) -> None:
    path = folder / "dump.jsonl"
    listed = await panel.ask(rollouts.PAGE, path=str(path))
    assert [row["prompt"] for row in listed["rows"]] == ["2+2"]
    await panel.ask(rollouts.ITEM, path=str(path), item=1)
    await panel.ask(rollouts.GROUP, path=str(path), item=1)
    await panel.ask(rollouts.STATISTICS, path=str(path))
    rows = folder / "rows.jsonl"
    compared = await panel.ask(rollouts.COMPARE, a=str(rows), b=str(rows))
    assert compared["verdict"] == "consistent"
    await panel.ask(rollouts.COMPARISON_MARKDOWN, stored=compared["stored"])
    saved = folder / "comparison.json"
    await panel.ask(rollouts.SAVE_COMPARISON, stored=compared["stored"], path=str(saved))
    await panel.ask(rollouts.COMPARE, a="torch:model", b=str(rows), python=sys.executable)
    script = str(folder / "replay.py")
    # No interpreter of the tests has torch beside this one's packages.
    await panel.ask(rollouts.SAVE_BATCH, path=str(rows), batch="b.pt", python=sys.executable)
    await panel.ask(rollouts.BATCH, path=str(path), python=sys.executable)
    written = await panel.ask(
        rollouts.REPLAY, framework="areal", batch="b.pt", script=script, config="c.yaml"
    )
    assert written["script"] == script
    found = await panel.ask(rollouts.AGENTS, text="class A:\n    async def run(self, d, **k): 1")
    assert found["classes"] == [{"name": "A", "line": 1, "kind": "agent"}]
    item = await panel.ask(rollouts.STORE_ITEM, text='{"n": 1}')
    items = await panel.ask(rollouts.ITEMS, path=item["path"], cwd=str(folder))
    assert items["items"] == [{"number": 1, "text": '{"n": 1}'}]
    agent = {"target": str(folder / "train.py:A"), "data": item["path"], "python": sys.executable}
    place = {**agent, "server": "http://127.0.0.1:9/v1", "cwd": str(folder)}
    debugged = await panel.ask(rollouts.DEBUG_AGENT, **place, number=1, workspace="")
    await panel.ask(runs.STOP, id=debugged["run"])
    report = await panel.ask(rollouts.WAVE, **place, wave="01234567", groups=1, group_size=1)
    assert [rule["ok"] for rule in report["contract"]] == [False]
    await panel.ask(rollouts.CANCEL_WAVE, wave="01234567")


async def ask_the_doctor(panel: Panel, folder: Path) -> None:
    diagnosis = await panel.ask(doctor.DIAGNOSE, paths=[str(folder / "worker.err")])
    assert [cause["id"] for cause in diagnosis["causes"]] == ["ulimit-nofile"]
    assert await panel.ask(doctor.DIAGNOSE) is None
    # The handler waits for the output of a live run.
    for run in (await panel.ask(runs.LIST))["runs"][:1]:
        await panel.ask(doctor.FIRST_PROBLEM, id=run["id"])
    # Answered once a line names a problem, or refused as here.
    assert await panel.ask(doctor.FIRST_CLUSTER_PROBLEM, cluster="no such cluster") is None


async def test_no_request_makes_a_file_call_in_the_event_loop(
    panel: Panel, dashboard: FakeDashboard, files: FileCalls, tmp_path: Path
) -> None:
    cluster = dashboard.address
    await ask_about_clusters(panel, cluster, tmp_path)
    worker = dashboard.paused[0]["worker_id"]
    await ask_about_workers(panel, cluster, worker)
    await ask_about_debugging(panel, cluster, worker, tmp_path)
    await ask_about_runs(panel, tmp_path)
    await ask_about_reports(panel, cluster, tmp_path)
    await ask_about_hangs(panel, cluster, tmp_path)
    await ask_about_servers(panel, tmp_path)
    await ask_about_rollouts(panel, tmp_path)
    await ask_the_doctor(panel, tmp_path)
    await panel.ask(clusters.REMOVE, cluster=cluster)
    assert all_requests() - panel.asked == set()
    assert "\n".join(files.found) == ""


async def test_parts_are_built_off_the_event_loop() -> None:
    threads = []

    def build(options: dict[str, Any]) -> RequestServer:
        threads.append(threading.current_thread())
        return RequestServer()

    params = types.InitializeParams(capabilities=types.ClientCapabilities())
    await Sidecar(build)._on_initialize(params)
    assert threads and threads[0] is not threading.current_thread()


async def test_texts_are_in_the_language_of_the_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    languages: list[str] = []
    monkeypatch.setattr(l10n, "use", languages.append)
    params = types.InitializeParams(capabilities=types.ClientCapabilities(), locale="pt-br")
    await Sidecar(lambda options: RequestServer())._on_initialize(params)
    assert languages == ["pt-br"]


async def test_starting_the_adapter_makes_no_file_call_in_the_event_loop(
    files: FileCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = [sys.executable, "-c", "print('no adapter today')"]
    monkeypatch.setattr(process, "command", lambda: ends)
    adapters = AdapterClient()
    with pytest.raises(EaglerayError) as failed:
        await adapters.sessions.attach(
            AttachParams("session", "worker", "http://c:8265", "a", "10.9.9.9", 1)
        )
    assert failed.value.code == "adapter-not-started"
    assert "no adapter today" in failed.value.detail
    await adapters.close()
    assert "\n".join(files.found) == ""
