"""The import hook reports and extends modules without side effects."""

from __future__ import annotations

import _imp
import importlib
import importlib.util
import runpy
import sys
import threading
import traceback
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.injected.hooks.import_hook import ImportHook

NAME = "arrives_here"


@pytest.fixture
def arrivals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ImportHook]:
    monkeypatch.syspath_prepend(tmp_path)
    found = ImportHook()
    found.stems = {NAME}
    found.install()
    yield found
    sys.meta_path.remove(found)
    sys.modules.pop(NAME, None)


def test_thread_that_waits_in_a_module_does_not_block_other_imports(
    arrivals: ImportHook, tmp_path: Path
) -> None:
    (tmp_path / f"{NAME}.py").write_text("HERE = 1\n")
    (tmp_path / "another_module.py").write_text("")
    seen = []

    def see(file: str, name: str) -> None:
        other = threading.Thread(target=importlib.import_module, args=("another_module",))
        other.start()
        other.join(30)
        seen.append((file, name, other.is_alive(), _imp.lock_held(), name in sys.modules))

    arrivals.on_import = see
    module = importlib.import_module(NAME)
    assert seen == [(str(tmp_path / f"{NAME}.py"), NAME, False, False, False)]
    assert type(module.__loader__).__module__ == "_frozen_importlib_external"
    assert module.__spec__ is not None and module.__spec__.loader is module.__loader__


def test_traceback_of_a_failing_module_has_no_frame_of_ours(
    arrivals: ImportHook, tmp_path: Path
) -> None:
    (tmp_path / f"{NAME}.py").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError) as raised:
        importlib.import_module(NAME)
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert not [frame for frame in frames if frame.filename.endswith("run/arriving.py")]


def test_module_is_reported_however_it_is_run(arrivals: ImportHook, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.py").write_text("HERE = 1\n")
    seen: list[str] = []
    arrivals.on_import = lambda file, name: seen.append(name)
    assert importlib.util.find_spec(NAME) is not None and not seen
    assert runpy.run_module(NAME)["HERE"] == 1
    assert seen == [NAME]
    importlib.reload(importlib.import_module(NAME))
    assert seen == [NAME] * 3


def test_module_that_is_only_searched_for_is_extended_when_it_is_imported(
    arrivals: ImportHook, tmp_path: Path
) -> None:
    (tmp_path / f"{NAME}.py").write_text("HERE = 1\n")
    extended: list[types.ModuleType] = []
    arrivals.after(NAME, extended.append)
    importlib.util.find_spec(NAME)
    module = importlib.import_module(NAME)
    assert extended == [module] and module.HERE == 1
