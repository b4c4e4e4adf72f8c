"""Detecting, storing and applying mappings, over an adapter that only records its requests."""

import hashlib
import json
from pathlib import Path

import pytest
from attrs import define, field
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import no_worker_file, worker_gone
from eagleray.debug.source_mapping import messages as wire
from eagleray.debug.source_mapping.handlers import SourceMappingHandlers
from eagleray.debug.source_mapping.model import FileText
from eagleray.debug.source_mapping.source_mapping import SourceMapping
from eagleray.protocol.adapter_control import (
    FileContent,
    Mounts,
    PathMapping,
    WorkerState,
    WorkerStop,
)

CLUSTER = "http://127.0.0.1:8265"
PACKAGE = "/tmp/ray/session_1/runtime_resources/working_dir_files/_ray_pkg_0a1b"


def attached_worker(worker_id: str, cluster: str, path: str) -> WorkerState:
    stop = WorkerStop("breakpoint", path, 3, "train", "", 1)
    return WorkerState("s", worker_id, cluster, "w", 1, "stopped", False, 1.0, "", stop, "/s")


@define
class FakeAdapters:
    """Attached workers, the files that they see, and the mappings that they were given."""

    attached: list[WorkerState] = field(factory=list)
    files: dict[str, str] = field(factory=dict)
    told: dict[str, list[PathMapping]] = field(factory=dict)
    gone: set[str] = field(factory=set)
    mounted: Mounts = field(factory=Mounts)

    async def workers(self) -> list[WorkerState]:
        return self.attached

    async def set_mappings(self, session: str, worker_id: str, mappings: list[PathMapping]) -> None:
        if worker_id in self.gone:
            raise worker_gone(worker_id)
        self.told[worker_id] = mappings

    async def mounts(self, session: str, worker_id: str) -> Mounts:
        if worker_id in self.gone:
            raise worker_gone(worker_id)
        return self.mounted

    async def read_file(self, session: str, worker_id: str, path: str) -> FileContent:
        if path not in self.files:
            raise no_worker_file(path)
        text = self.files[path]
        return FileContent(text, False, hashlib.sha256(text.encode()).hexdigest())


@pytest.fixture
def adapters() -> FakeAdapters:
    return FakeAdapters([attached_worker("w1", CLUSTER, f"{PACKAGE}/train.py")])


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "verl").mkdir(parents=True)
    (folder / "train.py").write_text("mine\n")
    (folder / "verl" / "a.py").write_text("a\n")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def mapping(adapters: FakeAdapters, home: Path) -> SourceMapping:
    return SourceMapping(adapters, home)


async def test_detected_mapping_is_sent_to_the_worker_and_used_for_the_next(
    mapping: SourceMapping, adapters: FakeAdapters, workspace: Path
) -> None:
    assert mapping.mappings_of(CLUSTER) == []
    decision = await mapping.resolve(CLUSTER, "w1", f"{PACKAGE}/train.py", [str(workspace)])
    assert decision.local == f"{workspace}/train.py"
    found = [PathMapping(PACKAGE, str(workspace))]
    assert adapters.told == {"w1": found}
    assert mapping.mappings_of(CLUSTER) == found
    assert mapping.mappings_of("http://other:1") == []


async def test_content_decides_between_several(
    mapping: SourceMapping, adapters: FakeAdapters, workspace: Path
) -> None:
    for where, text in (("x", "one"), ("y", "two")):
        (workspace / where / "pkg").mkdir(parents=True)
        (workspace / where / "pkg" / "m.py").write_text(text)
    adapters.files["/app/pkg/m.py"] = "two"
    decision = await mapping.resolve(CLUSTER, "w1", "/app/pkg/m.py", [str(workspace)])
    assert decision.local == f"{workspace}/y/pkg/m.py"


async def test_answer_is_stored_for_the_cluster(
    mapping: SourceMapping, adapters: FakeAdapters, workspace: Path, home: Path
) -> None:
    adapters.attached.append(attached_worker("elsewhere", "http://other:1", "/x.py"))
    assert await mapping.set_folder(CLUSTER, "/app", str(workspace)) == [
        PathMapping("/app", str(workspace))
    ]
    assert set(adapters.told) == {"w1"}
    again = SourceMapping(adapters, home)
    decision = await again.resolve(CLUSTER, "w1", "/app/verl/a.py", [])
    assert (decision.how, decision.local) == ("setting", f"{workspace}/verl/a.py")
    assert (await again.resolve("http://other:1", "w1", "/app/verl/a.py", [])).how == "none"


async def test_answer_about_a_package_is_sent_for_the_workers_own_upload(
    mapping: SourceMapping, adapters: FakeAdapters, workspace: Path
) -> None:
    await mapping.set_folder(CLUSTER, PACKAGE.replace("0a1b", "older"), str(workspace))
    assert adapters.told["w1"] == [PathMapping(PACKAGE, str(workspace))]


async def test_file_of_a_container_is_mapped_by_its_mounts(
    adapters: FakeAdapters, workspace: Path, home: Path
) -> None:
    line = "9 1 8:1 {} {} rw - ext4 /dev/sda1 rw\n"
    here = Mounts("boot", line.format("/", "/"))
    mapping = SourceMapping(adapters, home, lambda: here)
    adapters.mounted = Mounts("boot", line.format(workspace, "/workspace"))
    adapters.files["/workspace/verl/a.py"] = "a\n"
    decision = await mapping.resolve(CLUSTER, "w1", "/workspace/verl/a.py", [])
    assert (decision.how, decision.local) == ("mounts", f"{workspace}/verl/a.py")
    assert adapters.told == {"w1": [PathMapping("/workspace", str(workspace))]}
    adapters.gone.add("w1")
    assert (await mapping.resolve(CLUSTER, "w1", "/workspace/verl/a.py", [])).how == "none"


@pytest.mark.parametrize(
    ("remote", "local", "expected"),
    [
        ("/app/verl/a.py", ".", PathMapping("/app", ".")),
        ("/app/verl/a.py", "verl/a.py", PathMapping("/app", ".")),
        ("/app/verl/a.py", "verl", PathMapping("/app/verl", "verl")),
        ("/app/unlike/b.py", "verl", PathMapping("/app/unlike", "verl")),
        ("/app/", ".", PathMapping("/app", ".")),
    ],
)
async def test_answer_about_a_file_maps_its_folders(
    mapping: SourceMapping, workspace: Path, remote: str, local: str, expected: PathMapping
) -> None:
    (mappings,) = await mapping.set_folder(CLUSTER, remote, str(workspace / local))
    assert mappings == PathMapping(expected.remote, str(workspace / expected.local))


async def test_answer_that_is_not_a_folder_is_refused(mapping: SourceMapping, home: Path) -> None:
    with pytest.raises(EaglerayError) as caught:
        await mapping.set_folder(CLUSTER, "/app", "/nowhere/at/all")
    assert caught.value.code == "not-a-folder"
    assert not home.exists()


async def test_newer_answer_replaces_an_older_one(mapping: SourceMapping, workspace: Path) -> None:
    await mapping.set_folder(CLUSTER, "/app", str(workspace))
    newer = await mapping.set_folder(CLUSTER, "/app", str(workspace / "verl"))
    assert newer == [PathMapping("/app", str(workspace / "verl"))]


async def test_ended_worker_does_not_stop_updates_of_the_others(
    mapping: SourceMapping, adapters: FakeAdapters, workspace: Path
) -> None:
    adapters.attached.append(attached_worker("w2", CLUSTER, "/app/a.py"))
    adapters.gone.add("w1")
    await mapping.set_folder(CLUSTER, "/app", str(workspace))
    assert set(adapters.told) == {"w2"}


@pytest.mark.parametrize("broken", ["", "no json", "[1]", '{"x": [{"remote": 1}]}', '{"x": 3}'])
async def test_broken_file_of_answers_counts_as_empty(
    mapping: SourceMapping, home: Path, workspace: Path, broken: str
) -> None:
    home.mkdir()
    (home / "source_mappings.json").write_text(broken)
    assert mapping.mappings_of(CLUSTER) == []
    await mapping.set_folder(CLUSTER, "/app", str(workspace))
    assert json.loads((home / "source_mappings.json").read_text()) == {
        CLUSTER: [{"remote": "/app", "local": str(workspace)}]
    }


async def test_setting_holds_for_one_cluster_or_for_every(
    mapping: SourceMapping, workspace: Path
) -> None:
    mapping.configure(
        {
            "*": [PathMapping("/every", str(workspace))],
            CLUSTER: [PathMapping("/one", str(workspace)), PathMapping("/home", "~/x")],
        }
    )
    assert [one.remote for one in mapping.mappings_of(CLUSTER)] == ["/one", "/home", "/every"]
    assert mapping.mappings_of(CLUSTER)[1].local == str(Path.home() / "x")
    assert [one.remote for one in mapping.mappings_of("http://other:1")] == ["/every"]
    mapping.configure({})
    assert mapping.mappings_of(CLUSTER) == []


@pytest.mark.parametrize(
    ("worker", "theirs", "ours", "verdict"),
    [
        ("w1", "mine\n", "train.py", "same"),
        ("w1", "older\n", "train.py", "different"),
        ("w1", "mine\n", "gone.py", "only-worker"),
        ("w1", "mine\n", "", "only-worker"),
        ("w1", None, "train.py", "only-local"),
        ("w1", None, "", "unknown"),
        ("nobody", None, "train.py", "unknown"),
    ],
)
async def test_files_are_compared_by_hash(
    mapping: SourceMapping,
    adapters: FakeAdapters,
    workspace: Path,
    worker: str,
    theirs: str | None,
    ours: str,
    verdict: str,
) -> None:
    if theirs is not None:
        adapters.files["/app/train.py"] = theirs
    local = str(workspace / ours) if ours else ""
    assert await mapping.compare(CLUSTER, worker, "/app/train.py", local) == verdict


async def test_handlers_answer_requests_of_the_panel(
    mapping: SourceMapping, adapters: FakeAdapters, workspace: Path
) -> None:
    handlers = SourceMappingHandlers(mapping)
    adapters.files["/app/train.py"] = "theirs\n"
    place = wire.WorkerFile(CLUSTER, "w1", "/app/train.py", str(workspace / "train.py"))
    await handlers.configure(wire.Configure({CLUSTER: [PathMapping("/s", "/t")]}))
    asked = wire.Resolve(CLUSTER, "w1", "/app/train.py", [str(workspace)])
    assert await handlers.resolve(asked) == wire.Resolution(
        "ask", "", [str(workspace / "train.py")]
    )
    answered = await handlers.set_folder(wire.SetFolder(CLUSTER, "/app", str(workspace)))
    assert answered == await handlers.mappings(wire.ClusterOf(CLUSTER))
    assert answered.mappings == [
        PathMapping("/s", "/t"),
        PathMapping("/app", str(workspace)),
    ]
    assert await handlers.resolve(asked) == wire.Resolution("setting", place.local, [])
    assert await handlers.compare(place) == wire.Comparison("different")
    assert await handlers.worker_file(place) == FileText("theirs\n", False)


async def test_file_of_no_attached_worker_is_unknown(mapping: SourceMapping) -> None:
    for worker, code in (("w1", "no-worker-file"), ("nobody", "unknown-worker")):
        with pytest.raises(EaglerayError) as caught:
            await mapping.worker_file(CLUSTER, worker, "/app/x.py")
        assert caught.value.code == code
