"""Reports that only commands on a login node reach: downloaded in parts, then removed."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings import collector
from eagleray.profile.recordings.collector import ReportCollector
from eagleray.profile.recordings.run_sources import DepartedNodes, RunSources
from eagleray.profile.recordings.scanner import Scanner, parse_worker
from eagleray.profile.recordings.sources import RemoteFolder
from eagleray.profile.recordings.store import ReportStore
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.remote.scripts import report_folder as script
from eagleray.remote.scripts.report_folder import MOST
from eagleray.runs.model import Kind, ProfilePlan, RunPlan, WorkerProfile
from eagleray.runs.remote_files import (
    RemoteFiles,
    RemotePath,
    make_remote_reports_folder,
    remote_reports_folder,
)
from eagleray.slurm.client import on_node
from eagleray.tools.commands import Commands

from tests.profile.recordings.reports import RUN, content, described, put, status
from tests.profile.recordings.test_collector import Nsys, open_nothing

BIG = content(2, MOST + 5000)
STATUS = "p.n1.7.worker.json"


class Login:
    """An ssh destination that is this machine, in a process of its own if it is `real`.

    `asked` are the words that the script is given, `fails` what ssh says, `answers` what the script says,
    `node` the host to which another ssh leads from there.
    """

    def __init__(self, real: bool = False) -> None:
        self._real = real
        self.asked: list[list[str]] = []
        self.fails = ""
        self.node = ""
        self.answers: str | None = None

    async def __call__(
        self, ssh: str, argv: list[str], stdin: str = "", limit_s: float = 30.0
    ) -> CommandOutput:
        if self.node:
            assert argv[0] == "ssh" and argv[-2] == self.node
            argv = shlex.split(argv[-1])
        assert ssh == "login" and argv[:3] == ["python3", "-I", "-"]
        self.asked.append(argv[4:])
        if self.fails:
            return CommandOutput(255, "", self.fails)
        if self.answers is not None:
            return CommandOutput(0, f"motd\n{argv[3]}{self.answers}\n", "")
        if self._real:
            return await Commands(self).run("", argv, stdin, limit_s)
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            script.main(argv[3:])
        return CommandOutput(0, written.getvalue(), "")

    @property
    def pieces(self) -> list[str]:
        return [call[3] for call in self.asked if call[0] == "piece"]


def remote_folder(login: Login, folder: Path) -> RemoteFolder:
    return RemoteFolder(RemoteFiles(Commands(login), "login", str(folder)))


async def gathered(here: Path, source: RemoteFolder) -> list[EaglerayError]:
    made = ReportStore(RUN, here)
    with made.locked():
        scan_result = await Scanner().scan([source])
        return [*scan_result.failures, *await made.download(scan_result.reports)]


async def test_remote_report_is_downloaded_in_parts_and_resumed(tmp_path: Path) -> None:
    there, here, login = tmp_path / RUN, tmp_path / "here", Login(real=True)
    put(there, "p.nsys-rep", BIG)
    here.mkdir()
    (here / "p.nsys-rep.part").write_bytes(BIG[:1000])
    assert await gathered(here, remote_folder(login, there)) == []
    assert (here / "p.nsys-rep").read_bytes() == BIG
    assert login.pieces == ["1000", str(1000 + MOST)]


async def test_scan_of_an_unchanged_folder_is_a_single_command(tmp_path: Path) -> None:
    there, login = tmp_path / RUN, Login()
    for number in range(450):
        put(there, f"p.n1.{number}.nsys-rep", b"x")
    (there / STATUS).write_bytes(status("recording"))
    source, scanner = remote_folder(login, there), Scanner()
    assert len((await scanner.scan([source])).reports) == 450
    assert [call[0] for call in login.asked] == ["list", "small", "small", "small"]
    login.asked.clear()
    (there / STATUS).write_bytes(status("armed", problem="another"))
    scan_result = await scanner.scan([source])
    # It may have written more meanwhile than in the first list.
    assert [call[0] for call in login.asked] == ["list", "small", "list"]
    assert (len(scan_result.reports), scan_result.workers[0].problem) == (450, "another")
    login.asked.clear()
    await scanner.scan([source])
    assert [call[0] for call in login.asked] == ["list"]


async def test_unreadable_description_is_requested_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, login = tmp_path / RUN, Login()
    put(there, "p.nsys-rep", b"x")
    source, scanner = remote_folder(login, there), Scanner()

    def stale(*_: object) -> bytes:
        raise OSError(errno.ESTALE, "Stale file handle")

    with monkeypatch.context() as patched:
        patched.setattr(script, "read", stale)
        assert (await scanner.scan([source])).reports == ()
    assert [report.entry.source for report in (await scanner.scan([source])).reports] == [
        "p.nsys-rep"
    ]


async def test_only_files_of_the_run_are_read(tmp_path: Path) -> None:
    there, secret, login = tmp_path / RUN, tmp_path / "secret", Login()
    secret.write_bytes(b"mine")
    put(there, "p.nsys-rep", b"mine")
    files = RemoteFiles(Commands(login), "login", str(there))
    (there / "q.worker.json").symlink_to(secret)
    assert await files.small([b"q.worker.json", b"../secret"]) == {
        b"q.worker.json": b"",
        b"../secret": b"",
    }
    (there / "p.nsys-rep").unlink()
    (there / "p.nsys-rep").symlink_to(secret)
    for name in (b"p.nsys-rep", b"../secret"):
        with pytest.raises(EaglerayError, match="Can't read the reports"):
            await files.piece(name, 0)
    linked = tmp_path / "linked" / RUN
    linked.parent.mkdir()
    linked.symlink_to(there)
    for folder in (linked, tmp_path, there / ".."):
        with pytest.raises(EaglerayError) as raised:
            await RemoteFiles(Commands(login), "login", str(folder)).remove()
        assert raised.value.code == "far-folder-failed"
    assert secret.exists() and there.exists()


@pytest.mark.parametrize(
    "answer",
    ["[]", "{", '{"files": 7}', '{"files": [["../p.nsys-rep.json", 1, 2], ["x", "y"], 5]}'],
)
async def test_invalid_answer_of_a_login_node_is_ignored(tmp_path: Path, answer: str) -> None:
    login = Login()
    login.answers = answer
    scan_result = await Scanner().scan([remote_folder(login, tmp_path / RUN)])
    assert (scan_result.reports, scan_result.workers) == ((), ())
    assert {failure.code for failure in scan_result.failures} <= {"far-folder-failed"}


async def test_failure_of_a_login_node_is_shown(tmp_path: Path) -> None:
    login = Login()
    login.fails = "bash: python3: command not found"
    scan_result = await Scanner().scan([remote_folder(login, tmp_path / RUN)])
    assert scan_result.failures[0].output == "bash: python3: command not found"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setattr(collector, "WAIT_POLL_INTERVAL_S", 0.01)


def reports(login: Login, there: Path, here: Path) -> ReportCollector:
    sources = RunSources(
        RUN,
        here / "nothing",
        open_nothing,
        lambda cluster, ip: [DIRECT],
        remote_folder(login, there),
    )
    return ReportCollector(RUN, ReportStore(RUN, here), sources, lambda: None, Nsys(asked=0))


async def rest(made: ReportCollector) -> None:
    await made.collect_rest()
    await made.close()


@pytest.mark.usefixtures("at_once")
async def test_remote_folder_is_removed_after_collecting(tmp_path: Path) -> None:
    there, here, login = tmp_path / ".eagleray-reports" / RUN, tmp_path / "here", Login()
    there.parent.mkdir(mode=0o700)
    put(there, "p.nsys-rep", BIG)
    (there / STATUS).write_bytes(status("writing"))
    made = reports(login, there, here)
    resting = asyncio.create_task(rest(made))
    while made.state.gathered == 0:
        await asyncio.sleep(0.01)
    assert there.exists() and not resting.done()
    (there / STATUS).write_bytes(status("ended", reports=["p.nsys-rep"]))
    await resting
    assert not there.parent.exists() and (here / "p.nsys-rep").read_bytes() == BIG
    again = reports(login, there, here)
    await again.collect()
    await again.close()
    assert (again.state.gathered, again.state.expected) == (1, 1)


@pytest.mark.usefixtures("at_once")
async def test_incomplete_report_keeps_the_remote_folder(tmp_path: Path) -> None:
    there, login = tmp_path / RUN, Login()
    put(there, "p.nsys-rep", b"one")
    (there / "p.2.nsys-rep").write_bytes(b"nobody has said that it is whole")
    (there / STATUS).write_bytes(status("ended", reports=["p.nsys-rep"]))
    await rest(reports(login, there, tmp_path / "here"))
    assert (tmp_path / "here" / "p.nsys-rep").exists() and (there / "p.2.nsys-rep").exists()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("lie", [{"sha256": "0" * 64}, {"size": 2**50}])
async def test_missing_report_keeps_the_remote_folder(
    tmp_path: Path, lie: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "UNREACHABLE_LIMIT_S", 0.05)
    there, login = tmp_path / RUN, Login()
    put(there, "p.nsys-rep", b"one")
    (there / "p.nsys-rep.json").write_bytes(described(b"one", **lie))
    (there / STATUS).write_bytes(status("ended", reports=["p.nsys-rep"]))
    made = reports(login, there, tmp_path / "here")
    await made.collect()
    await made.close()
    assert there.exists() and (made.state.gathered, made.state.expected) == (0, 1)


LOGS = f"/tmp/ray/session_1/logs/eagleray/{RUN}"


def test_command_on_a_node_is_a_single_shell_word() -> None:
    call = ["python3", "-I", "-", "mark", "small", LOGS, "a b;$(rm)'.json"]
    by_ssh = on_node(RouteSpec(ssh="login"), "node-1")(call)
    assert by_ssh[0] == "ssh" and by_ssh[-2] == "node-1" and "BatchMode=yes" in by_ssh
    assert shlex.split(by_ssh[-1]) == call
    step = on_node(RouteSpec(ssh="login", job="7", node="node-9"), "node-9.site.org")(call)
    assert step[-len(call) :] == call
    assert {"srun", "--jobid=7", "--nodelist=node-9"} <= set(step)
    for host in ("-oProxyCommand=x", "a b", "", "a;b", "root@a"):
        with pytest.raises(EaglerayError) as raised:
            on_node(RouteSpec(ssh="login"), host)
        assert raised.value.code == "bad-route"


def test_departed_nodes_list_only_folders_of_the_run() -> None:
    def worker(folder: str, node_id: str = "n1", node: str = "node-1") -> WorkerProfile:
        return WorkerProfile("k", "w", 7, "p", node, "ended", node_id=node_id, folder=folder)

    left = DepartedNodes(RUN, Commands(Login()), lambda of, host: [RouteSpec(ssh=of)], "login")
    asked = [
        worker(LOGS),
        worker(LOGS),
        worker(LOGS, "n2", "node-2"),
        worker(LOGS, node="-o x"),
        worker("/home/alice"),
        worker(f"/x/../logs/eagleray/{RUN}"),
        worker(f"x/logs/eagleray/{RUN}"),
        worker(LOGS.replace(RUN, "0" * 12)),
    ]
    assert [folder.name for folder in left.folders(asked, served=["n2"])] == [f"node-1:{LOGS}"]
    assert left.folders(asked, served=["n2"]) == left.folders(asked, served=["n2"])


def test_departed_node_is_polled_rarely_while_no_caller_waits() -> None:
    now = 0.0
    left = DepartedNodes(
        RUN, Commands(Login()), lambda of, host: [RouteSpec(ssh=of)], "login", lambda: now
    )
    lost = WorkerProfile("k", "w", 7, "p", "node-1", "ended", node_id="n1", folder=LOGS)
    scans = []
    for second in range(3600):
        now = float(second)
        if left.folders([lost], served=[], is_urgent=False):
            scans.append(second)
    assert scans[0] == 0 and len(scans) <= 14
    assert left.folders([lost], served=[])


@pytest.mark.usefixtures("at_once")
async def test_reports_are_collected_after_ray_has_ended(tmp_path: Path) -> None:
    """The list of another process says which worker wrote where, and its cluster is gone."""
    there, login = tmp_path / "logs" / "eagleray" / RUN, Login()
    there.parent.mkdir(mode=0o700, parents=True)
    put(there, "p.nsys-rep", b"one", node_id="n1")
    written = status("ended", node_id="n1", folder=str(there), reports=["p.nsys-rep"])
    (there / STATUS).write_bytes(written)
    worker, _ = parse_worker(STATUS, written)
    assert worker is not None and worker.folder == str(there)
    left = DepartedNodes(RUN, Commands(login), lambda of, host: [RouteSpec(ssh="login")], "c")
    login.node = worker.node
    sources = RunSources(
        RUN, tmp_path / "nothing", open_nothing, lambda of, ip: [DIRECT], None, left
    )
    made = ReportCollector(
        RUN, ReportStore(RUN, tmp_path / "here"), sources, lambda: None, Nsys(), workers=(worker,)
    )
    await made.collect()
    await made.close()
    assert (tmp_path / "here" / "p.nsys-rep").read_bytes() == b"one" and there.exists()
    assert [worker.reports for worker in made.state.workers] == [
        (str(tmp_path / "here/p.nsys-rep"),)
    ]
    login.asked.clear()
    again = ReportCollector(
        RUN, ReportStore(RUN, tmp_path / "here"), sources, lambda: None, Nsys(), workers=(worker,)
    )
    await again.collect()
    await again.close()
    assert login.asked == []


def plan(
    kind: Kind = "sbatch", cluster: str = "ssh://login", workers: Sequence[str] = "*"
) -> RunPlan:
    profile = ProfilePlan(tuple(workers)) if workers else None
    return RunPlan(
        kind=kind, argv=("sbatch", "x"), cwd="/w", name="x", cluster=cluster, profile=profile
    )


def test_only_remote_batch_profiles_have_a_remote_folder() -> None:
    assert remote_reports_folder(RUN, plan()) == RemotePath("login", f"/w/.eagleray-reports/{RUN}")
    for other in (plan(cluster=""), plan(workers=""), plan("job", "ssh://login/node-1")):
        assert remote_reports_folder(RUN, other) is None


async def test_remote_folder_is_private_or_omitted(tmp_path: Path) -> None:
    login = Login()
    asked = RunPlan(
        kind="sbatch",
        argv=("sbatch", "x"),
        cwd=str(tmp_path),
        name="x",
        cluster="ssh://login",
        profile=ProfilePlan(("*",)),
    )
    for _ in range(2):
        made = await make_remote_reports_folder(Commands(login), RUN, asked)
        assert Path(made).stat().st_mode & 0o777 == 0o700
    login.fails = "no space"
    assert await make_remote_reports_folder(Commands(login), RUN, asked) == ""
