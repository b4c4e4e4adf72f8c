"""Files: mapped to local ones, shown from the worker where there is none, folded where they are Ray's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.adapter.harness import PROGRAMS, ControlClient, Program
from tests.dap_client import DapClient

Start = Callable[..., Program]
KEY = {"session": "session_1", "worker_id": "w1"}


def test_mapped_folder_translates_both_ways(
    control: ControlClient, program: Start, tmp_path: Path
) -> None:
    worker = program("loop.py", "2")
    shutil.copy(PROGRAMS / "loop.py", tmp_path / "loop.py")
    mine = str(tmp_path / "loop.py")
    mapping = {"remote": str(PROGRAMS), "local": str(tmp_path)}
    result = control.attach(worker, mappings=[mapping])
    # The control protocol has paths of the worker.
    assert result["worker"]["stop"]["path"] == str(PROGRAMS / "loop.py")
    editor = DapClient.unix(result["socket"])
    editor.attach(breakpoints={mine: [12]})
    editor.wait_for("stopped")
    assert {f["source"]["path"] for f in editor.stack()} == {mine}
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    assert (editor.stack()[0]["line"], editor.stack()[0]["source"]["path"]) == (12, mine)


def test_code_pickled_by_value_stops_under_its_original_path(
    control: ControlClient, program: Start, tmp_path: Path
) -> None:
    mine = str(tmp_path / "loop.py")
    shutil.copy(PROGRAMS / "loop.py", mine)
    worker = program("by_value.py", str(tmp_path))
    mapping = {"remote": str(PROGRAMS), "local": str(tmp_path)}
    result = control.attach(worker, mappings=[mapping])
    editor = DapClient.unix(result["socket"])
    editor.attach()
    editor.wait_for("stopped")
    assert editor.stack()[0]["source"]["path"] == mine
    [row] = editor.set_breakpoints(mine, [12])
    assert row["verified"]
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    assert editor.stack()[0]["line"] == 12
    editor.set_breakpoints(mine, [])
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    assert editor.stack()[0]["line"] == 10


def test_new_mappings_apply_at_once(control: ControlClient, program: Start, tmp_path: Path) -> None:
    worker = program("loop.py", "2")
    mine = str(tmp_path / "loop.py")
    shutil.copy(PROGRAMS / "loop.py", mine)
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    # Without a mapping of this file its breakpoint can't be hit.
    [before] = editor.set_breakpoints(mine, [12])
    mapping = {"remote": str(PROGRAMS / "loop.py"), "local": mine}
    control.call("set_mappings", **KEY, mappings=[mapping])
    changed = editor.wait_for("breakpoint")["body"]["breakpoint"]
    assert (changed["id"], changed["verified"]) == (before["id"], True)
    editor.wait_for("invalidated")
    assert editor.stack()[0]["source"]["path"] == mine
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    assert editor.stack()[0]["line"] == 12


def test_file_that_only_the_worker_has_is_shown(
    control: ControlClient, program: Start, tmp_path: Path
) -> None:
    worker = program("generated.py", str(tmp_path))
    (tmp_path / "only_here.py").rename(tmp_path / "gone.py")
    only = tmp_path / "only_here.py"
    result = control.attach(worker)
    assert result["worker"]["stop"]["path"] == str(only)
    error = control.error("read_file", **KEY, path=str(only))
    assert error["code"] == "no-worker-file"
    editor = DapClient.unix(result["socket"])
    editor.attach()
    editor.wait_for("stopped")
    source = editor.stack()[0]["source"]
    assert source["sourceReference"] > 0
    (tmp_path / "gone.py").rename(only)
    text = editor.request("source", source=source, sourceReference=source["sourceReference"])[
        "content"
    ]
    assert text.startswith("reward = 7\n")
    # debugpy itself serves code without a file.
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    source = editor.stack()[0]["source"]
    assert source["path"] == "<string>"


def test_file_removed_from_the_workers_disk_is_shown_locally(
    control: ControlClient, program: Start, tmp_path: Path
) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    mine.mkdir()
    theirs.mkdir()
    worker = program("generated.py", str(theirs))
    (theirs / "only_here.py").rename(mine / "only_here.py")
    result = control.attach(worker, mappings=[{"remote": str(theirs), "local": str(mine)}])
    editor = DapClient.unix(result["socket"])
    editor.attach()
    editor.wait_for("stopped")
    source = editor.stack()[0]["source"]
    assert source["path"] == str(mine / "only_here.py")
    assert not source.get("sourceReference")


def test_breakpoint_in_the_workers_version_of_a_file_stops(
    control: ControlClient, program: Start, tmp_path: Path
) -> None:
    worker = program("generated.py", str(tmp_path))
    only = tmp_path / "only_here.py"
    editor = DapClient.unix(control.attach(worker)["socket"])
    text = only.read_text()
    only.unlink()
    editor.attach()
    editor.wait_for("stopped")
    source = editor.stack()[0]["source"]
    only.write_text(text)
    rows = [{"line": 3}]
    body = editor.request("setBreakpoints", source=source, breakpoints=rows, lines=[3])
    assert body["breakpoints"][0]["verified"]


def test_frames_of_ray_are_folded(control: ControlClient, program: Start) -> None:
    worker = program("layers.py")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    assert shown(editor) == [("train", ""), ("call", "subtle"), ("driver", ""), ("<module>", "")]
    # The editor requests the first frame alone, then the rest.
    first = editor.request("stackTrace", threadId=1, startFrame=0, levels=1)
    assert [f["name"] for f in first["stackFrames"]] == ["train"]
    assert first["totalFrames"] == 4
    rest = editor.request("stackTrace", threadId=1, startFrame=1, levels=19)
    assert [f["name"] for f in rest["stackFrames"]] == ["call", "driver", "<module>"]
    assert rest["stackFrames"][0]["source"]["presentationHint"] == "deemphasize"
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    # A user who stopped inside RLlib reads RLlib.
    assert shown(editor) == [
        ("step", ""),
        ("call", "subtle"),
        ("sample", ""),
        ("driver", ""),
        ("<module>", ""),
    ]


def shown(editor: DapClient) -> list[tuple[str, str]]:
    return [(frame["name"], frame.get("presentationHint", "")) for frame in editor.stack()]


def test_hover_with_a_document_uri_is_answered(control: ControlClient, program: Start) -> None:
    editor = DapClient.unix(control.attach(program("loop.py", "1"))["socket"])
    editor.attach()
    editor.wait_for("stopped")
    source = {"path": "vscode-remote://127.0.0.1:31080/tmp/loop.py"}
    frame = editor.stack()[0]["id"]
    hover = {"context": "hover", "source": source, "line": 3, "column": 5}
    assert editor.request("evaluate", expression="loss", frameId=frame, **hover)["result"] == "1.0"
