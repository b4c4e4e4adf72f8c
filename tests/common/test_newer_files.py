"""Files that a newer version of Eagleray wrote are not replaced by this one, and two windows lose no answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.clusters.stored_lists import StoredClusters
from eagleray.common.errors import EaglerayError
from eagleray.debug.attaching.ignored_breakpoints import BreakpointIgnorer
from eagleray.debug.attaching.model import IgnoredBreakpoint
from eagleray.debug.source_mapping.stored_mappings import StoredMappings
from eagleray.protocol.adapter_control import PathMapping
from eagleray.runs.presets.user_presets import OwnPresets, Preset

CLUSTER = "http://a:8265"


def map_folder(file: Path) -> None:
    StoredMappings(file).add(CLUSTER, PathMapping("/there", "/here"))


def add_cluster(file: Path) -> None:
    StoredClusters(file).add(CLUSTER)


def remove_cluster(file: Path) -> None:
    StoredClusters(file).remove(CLUSTER)


@pytest.mark.parametrize("change", [map_folder, add_cluster, remove_cluster])
def test_newer_file_is_not_replaced(tmp_path: Path, change: Callable[[Path], None]) -> None:
    file = tmp_path / "kept.json"
    text = json.dumps({"version": 2, "clusters": [{"address": CLUSTER}], "new": "kept"})
    file.write_text(text)
    with pytest.raises(EaglerayError) as failed:
        change(file)
    assert failed.value.code == "newer-file" and str(file) in failed.value.message
    assert file.read_text() == text


class Quiet(AdapterSessions):
    """The sessions of no adapter."""

    def __init__(self) -> None:
        pass

    async def ignore(self, params: object) -> None: ...


def rule(line: int) -> IgnoredBreakpoint:
    return IgnoredBreakpoint(CLUSTER, "session", "/a.py", line)


async def test_newer_rules_are_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "ignored.json"
    file.write_text('{"version": 2}')
    with pytest.raises(EaglerayError) as failed:
        await BreakpointIgnorer(Quiet(), file).ignore(rule(1))
    assert failed.value.code == "newer-file" and file.read_text() == '{"version": 2}'


def test_newer_presets_are_not_replaced(tmp_path: Path) -> None:
    presets = OwnPresets(tmp_path)
    file = presets._file("/work")
    file.write_text('{"version": 2}')
    with pytest.raises(EaglerayError) as failed:
        presets.save("/work", Preset.__new__(Preset))
    assert failed.value.code == "newer-file" and file.read_text() == '{"version": 2}'


@pytest.mark.parametrize("torn", ["", "{", "\0" * 40])
def test_damaged_file_is_replaced(tmp_path: Path, torn: str) -> None:
    file = tmp_path / "kept.json"
    file.write_text(torn)
    map_folder(file)
    assert StoredMappings(file).of(CLUSTER) == [PathMapping("/there", "/here")]


def test_two_windows_keep_all_mappings(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"

    def add(number: int) -> None:
        StoredMappings(file).add(CLUSTER, PathMapping(f"/there/{number}", "/here"))

    with ThreadPoolExecutor(8) as windows:
        list(windows.map(add, range(64)))
    assert len(StoredMappings(file).of(CLUSTER)) == 64


def test_two_windows_keep_all_rules(tmp_path: Path) -> None:
    import asyncio

    file = tmp_path / "ignored.json"

    def ignore(line: int) -> None:
        asyncio.run(BreakpointIgnorer(Quiet(), file).ignore(rule(line)))

    with ThreadPoolExecutor(8) as windows:
        list(windows.map(ignore, range(64)))
    assert {one.line for one in asyncio.run(BreakpointIgnorer(Quiet(), file).rules())} == set(
        range(64)
    )
