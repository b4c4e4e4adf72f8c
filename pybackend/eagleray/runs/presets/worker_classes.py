"""Finds patterns of workers that match no class of the recognised framework, by its sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.remote.injected.outside_files import readable_text
from eagleray.remote.injected.worker_patterns import first_match, matchable_names
from eagleray.runs.model import RunPlan
from eagleray.runs.presets.analysis import analyze
from eagleray.runs.presets.errors import unmatched_workers
from eagleray.runs.presets.recognition import Recognised

_DEFINITION = re.compile(r"^(?:\s*class|(?:async )?def)\s+(?P<name>\w+)", re.MULTILINE)
# Frameworks have several hundred files; a folder with more is not only theirs.
_MOST_FILES = 3000
_LARGEST = 2**20


def unmatched(plan: RunPlan) -> list[EaglerayError]:
    """One problem for each pattern of the plan that matches no class of its framework."""
    patterns = (*plan.workers, *(plan.profile.workers if plan.profile else ()))
    wanted = [pattern for pattern in patterns if not first_match([pattern], ["driver"])[0]]
    if not wanted:
        return []
    analysis = analyze(plan, plan.python or plan.argv[0], datetime.now().astimezone())
    recognised = analysis.recognised
    # Where a framework names groups of workers, the names are in its configuration.
    if recognised is None or (
        recognised.table.profile and recognised.table.profile.groups == "names"
    ):
        return []
    names = list(_names(recognised))
    missing = [item for item in wanted if names and not first_match([item], names)[0]]
    return [unmatched_workers(item, recognised.table.title) for item in missing]


def _names(recognised: Recognised) -> Iterator[str]:
    package = _package(recognised)
    if package is None:
        return
    for file in sorted(package.rglob("*.py"))[:_MOST_FILES]:
        module = ".".join(file.relative_to(package.parent).with_suffix("").parts)
        for match in _DEFINITION.finditer(readable_text(file, _LARGEST)):
            yield from matchable_names(module, match["name"])


def reads_variable(recognised: Recognised, file: str, name: str) -> bool:
    """Whether the `file` of the framework, relative to its repository, has the variable `name`."""
    package = _package(recognised)
    return package is not None and name in readable_text(package.parent / file, _LARGEST)


def _package(recognised: Recognised) -> Path | None:
    """The framework's package beside the file that its version was read from."""
    where = recognised.version.where
    paths = [path for path, _ in recognised.table.version_files if where.endswith(f"/{path}")]
    root = Path(where.removesuffix(paths[0])) if paths else Path(where).parent
    folder = root / recognised.table.package
    return folder if where and folder.is_dir() else None
