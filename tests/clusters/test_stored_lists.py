"""The file of added clusters."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from eagleray.clusters.stored_lists import StoredClusters

A, B = "http://a:8265", "http://b:8265"


def test_added_cluster_is_read_by_the_next_window(tmp_path: Path) -> None:
    file = tmp_path / "clusters.json"
    StoredClusters(file).add(A)
    StoredClusters(file).add(B)
    StoredClusters(file).add(A)
    assert StoredClusters(file).addresses() == [A, B]
    StoredClusters(file).remove(A)
    assert StoredClusters(file).addresses() == [B]
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"clusters.json", ".clusters.json.lock"}


def test_additions_of_two_windows_are_both_stored(tmp_path: Path) -> None:
    file = tmp_path / "clusters.json"
    ports = range(8000, 8064)
    with ThreadPoolExecutor(8) as windows:
        list(windows.map(lambda port: StoredClusters(file).add(f"http://a:{port}"), ports))
        assert len(StoredClusters(file).addresses()) == len(ports)
        list(windows.map(lambda port: StoredClusters(file).remove(f"http://a:{port}"), ports[1:]))
    assert StoredClusters(file).addresses() == ["http://a:8000"]


def test_only_the_user_can_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "clusters.json"
    StoredClusters(file).add(A)
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"clusters": 3}', '{"clusters": [1, {"address": 2}]}']
)
def test_broken_file_counts_as_empty(tmp_path: Path, content: str) -> None:
    file = tmp_path / "clusters.json"
    file.write_text(content)
    assert StoredClusters(file).addresses() == []
    assert file.read_text() == content


def test_bad_addresses_in_the_file_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "clusters.json"
    entries = [{"address": "http://u:p@head:1"}, {"address": A}, {"address": "file:///etc"}]
    file.write_text(json.dumps({"version": 1, "clusters": entries}))
    assert StoredClusters(file).addresses() == [A]


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "clusters.json"
    stored = StoredClusters(file)
    stored.add(A)

    def fail(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        stored.add(B)
    assert stored.addresses() == [A]
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"clusters.json", ".clusters.json.lock"}
