"""The local folder of reports: identical files, unique names, its lock, and full disks."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings import download, store
from eagleray.profile.recordings.scanner import Scanner
from eagleray.profile.recordings.sources import LocalFolder
from eagleray.profile.recordings.store import ReportStore, output_folder

from tests.profile.recordings.gathered import BIG, all_missing, cluster, gathered, listed, node
from tests.profile.recordings.reports import RUN, content, described, put


async def test_reports_of_nodes_are_identical_through_the_head(tmp_path: Path) -> None:
    async with cluster("n1", "n2") as (fake, dashboard):
        growing = {f"eagleray/{RUN}/q.nsys-rep": b"", f"eagleray/{RUN}/x.qdstrm": b"7"}
        fake.files["n1"] |= growing | {"eagleray/other/p.nsys-rep": b"another run"}
        _, failures = await gathered(tmp_path, node(dashboard, "n1"), node(dashboard, "n2"))
    assert failures == []
    assert set(listed(tmp_path)) == {"p.n1.nsys-rep", "p.n2.nsys-rep"}
    for number, name in enumerate(("n1", "n2")):
        assert (tmp_path / f"p.{name}.nsys-rep").read_bytes() == content(number, 300_000)
        row = listed(tmp_path)[f"p.{name}.nsys-rep"]
        assert (row["node_id"], row["class"], row["size"]) == (name, "Policy", 300_000)
    assert not list(tmp_path.glob("*.part"))


async def test_default_folder_is_kept_out_of_git(tmp_path: Path) -> None:
    put(tmp_path / "there", "p.nsys-rep", b"report")
    folder = output_folder(RUN, "", str(tmp_path))
    for _ in range(2):
        await gathered(folder, LocalFolder(tmp_path / "there"))
    assert (folder.parent / ".gitignore").read_text() == "*\n"
    await gathered(tmp_path / "chosen" / RUN, LocalFolder(tmp_path / "there"))
    assert not (tmp_path / "chosen" / ".gitignore").exists()


async def test_present_report_is_not_downloaded_again_without_a_manifest(tmp_path: Path) -> None:
    async with cluster("n1") as (fake, dashboard):
        await gathered(tmp_path, node(dashboard, "n1"))
        (tmp_path / "manifest.json").unlink()
        fake.files["n1"][f"eagleray/{RUN}/p.n1.nsys-rep"] = b"gone by now"
        _, failures = await gathered(tmp_path, node(dashboard, "n1"))
    assert failures == [] and set(listed(tmp_path)) == {"p.n1.nsys-rep"}


async def test_same_name_of_two_nodes_gives_two_reports(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    put(first, "p.nsys-rep", b"first", node_id="n1")
    put(second, "p.nsys-rep", b"second", node_id="n2")
    _, failures = await gathered(tmp_path / "here", LocalFolder(first), LocalFolder(second))
    assert failures == []
    assert {name: row["node_id"] for name, row in listed(tmp_path / "here").items()} == {
        "p.nsys-rep": "n1",
        "p.2.nsys-rep": "n2",
    }
    assert (tmp_path / "here" / "p.2.nsys-rep").read_bytes() == b"second"


async def test_shared_folder_is_hard_linked(tmp_path: Path) -> None:
    put(tmp_path / "there", "p.nsys-rep", BIG)
    await gathered(tmp_path / "here", LocalFolder(tmp_path / "there"))
    here, there = tmp_path / "here/p.nsys-rep", tmp_path / "there/p.nsys-rep"
    assert here.stat().st_ino == there.stat().st_ino


async def test_links_and_pipes_in_a_shared_folder_are_refused(tmp_path: Path) -> None:
    there, secret = tmp_path / "there", tmp_path / "secret"
    secret.write_bytes(b"mine")
    put(there, "p.nsys-rep", b"mine")
    (there / "p.nsys-rep").unlink()
    (there / "p.nsys-rep").symlink_to(secret)
    os.mkfifo(there / "q.worker.json")
    (there / "r.worker.json").symlink_to(secret)
    scan_result = await Scanner().scan([LocalFolder(there)])
    assert (scan_result.failures, scan_result.workers) == ((), ())
    _, failures = await gathered(tmp_path / "here", LocalFolder(there))
    assert [failure.code for failure in failures] == ["report-unreachable"]
    assert f"from {there}: Too many levels of symbolic links." in failures[0].message
    assert not (tmp_path / "here/p.nsys-rep").exists()
    (there / "p.nsys-rep").unlink()
    os.mkfifo(there / "p.nsys-rep")
    _, failures = await gathered(tmp_path / "here", LocalFolder(there))
    assert [failure.code for failure in failures] == ["bad-report"]
    assert not list((tmp_path / "here").glob("p.nsys-rep*"))


async def test_removed_report_is_downloaded_under_the_same_name(tmp_path: Path) -> None:
    put(tmp_path / "there", "p.nsys-rep", b"one")
    for _ in range(2):
        await gathered(tmp_path / "here", LocalFolder(tmp_path / "there"))
        assert set(listed(tmp_path / "here")) == {"p.nsys-rep"}
        (tmp_path / "here" / "p.nsys-rep").unlink()


async def test_full_disk_is_an_error_and_leaves_no_partial_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = download._write_all

    def full(fd: int, data: bytes) -> None:
        write(fd, data[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    async with cluster("n1") as (_, dashboard):
        monkeypatch.setattr(download, "_write_all", full)
        with pytest.raises(EaglerayError, match="No space left") as raised:
            await gathered(tmp_path, node(dashboard, "n1"))
        assert raised.value.code == "no-room"
        assert [path.name for path in tmp_path.iterdir() if path.suffix not in (".json", "")] == []
        monkeypatch.setattr(download, "_write_all", write)
        _, failures = await gathered(tmp_path, node(dashboard, "n1"))
    assert failures == [] and (tmp_path / "p.n1.nsys-rep").exists()


async def test_too_large_report_is_skipped_and_others_are_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report of a false size beside two others, on a disk with room for one of these."""
    async with cluster("n1", "n2", "n3", "n4") as (fake, dashboard):
        for name, size in (("n1", 2**36 + 1), ("n2", 2**62), ("n3", 399_999)):
            lie = described(b"little", size=size, node_id=name, host=name)
            fake.files[name][f"eagleray/{RUN}/p.{name}.nsys-rep.json"] = lie
        nodes = [node(dashboard, name) for name in fake.files]
        small = store.shutil.disk_usage(tmp_path)._replace(free=400_000)
        monkeypatch.setattr(store.shutil, "disk_usage", lambda path: small)
        made, failures = await gathered(tmp_path, *nodes)
        assert [failure.code for failure in failures] == ["report-left-out"] * 3
        assert set(listed(tmp_path)) == {"p.n4.nsys-rep"} and made.all_bytes == 300_000
        missing = {row["host"]: row["why"] for row in all_missing(tmp_path)}
        assert "no report has more than 68719.5 MB" in missing["n1"]
        assert "4611686018427.4 MB" in missing["n2"]
        assert "(0.4 MB): 0.1 MB are free" in missing["n3"]
        monkeypatch.undo()
        fake.files["n3"][f"eagleray/{RUN}/p.n3.nsys-rep.json"] = described(
            content(2, 300_000), node_id="n3", host="n3"
        )
        await gathered(tmp_path, *nodes)
    assert set(listed(tmp_path)) == {"p.n3.nsys-rep", "p.n4.nsys-rep"}
    assert {row["host"] for row in all_missing(tmp_path)} == {"n1", "n2"}


async def test_report_of_the_same_file_system_needs_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "there", "p.nsys-rep", BIG)
    full = store.shutil.disk_usage(tmp_path)._replace(free=0)
    monkeypatch.setattr(store.shutil, "disk_usage", lambda path: full)
    _, failures = await gathered(tmp_path / "here", LocalFolder(tmp_path / "there"))
    assert failures == [] and (tmp_path / "here/p.nsys-rep").exists()


async def test_unwritable_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EaglerayError) as raised:
        await gathered(tmp_path / "file" / "run", LocalFolder(tmp_path))
    assert raised.value.code == "no-room"


def test_run_is_collected_by_a_single_process(tmp_path: Path) -> None:
    first, second = ReportStore(RUN, tmp_path), ReportStore(RUN, tmp_path)
    with first.locked(), pytest.raises(EaglerayError) as raised, second.locked():
        pass
    assert raised.value.code == "being-gathered"
    with ReportStore(RUN, tmp_path).locked():
        pass


async def test_runs_in_the_same_folder_share_no_report(tmp_path: Path) -> None:
    """`--output DIR` twice: the same worker on the same node, with the same name of its report."""
    here = [output_folder(run, str(tmp_path / "out"), "/elsewhere") for run in ("one", "two")]
    for run, folder in zip(("one", "two"), here, strict=True):
        put(tmp_path / run, "p.nsys-rep", run.encode(), run=run)
        made = ReportStore(run, folder)
        with made.locked():
            assert (
                await made.download((await Scanner().scan([LocalFolder(tmp_path / run)])).reports)
                == []
            )
    for run, folder in zip(("one", "two"), here, strict=True):
        assert folder.parent == tmp_path / "out"
        assert (folder / "p.nsys-rep").read_bytes() == run.encode()
        assert [entry.run for entry in ReportStore(run, folder).entries] == [run]
        # Whoever is pointed at another run's folder takes nothing of it for its own.
        assert ReportStore("three", folder).entries == ()


async def test_thousand_reports_are_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there"
    for number in range(1000):
        put(there, f"p.n1.{number}.nsys-rep", b"%d" % number)
    written: list[int] = []
    write = store.manifest.write
    monkeypatch.setattr(
        store.manifest, "write", lambda at, what: (written.append(1), write(at, what))
    )
    _, failures = await gathered(tmp_path / "here", LocalFolder(there))
    assert failures == [] and len(listed(tmp_path / "here")) == 1000
    assert len(written) < 100
