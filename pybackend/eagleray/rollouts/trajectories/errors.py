"""Errors of dumps of trajectories."""

from __future__ import annotations

import shlex

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import t


# fmt: off
@error("dump-unreadable", "Can't read {path}: {why}.", "Select a dump of trajectories, or its folder.")
def dump_unreadable(path: str, why: str) -> EaglerayError: ...
@error("not-json-lines", "{path} is a {kind} file, not JSON lines.", "Convert it to JSON lines in UTF-8.")
def not_json_lines(path: str, kind: str) -> EaglerayError: ...
@error("document-unreadable", "{path} is not JSON: {why}.", "Wait until it is written, or convert it to JSON lines.")
def document_unreadable(path: str, why: str) -> EaglerayError: ...
@error("no-dump", "{path} has no JSON file.", "Turn on the dump of your trainer, then select its folder.")
def no_dump_in(path: str) -> EaglerayError: ...
@error("no-trajectory", "Trajectory {item} doesn't exist: the file has {items}.", "The list has their numbers.")
def no_item(item: int, items: int) -> EaglerayError: ...
@error("not-trajectories", "{path} is {kind}.", "Select JSON lines, a JSON document or a folder of them.")
def not_trajectories(path: str, kind: str) -> EaglerayError: ...
# fmt: on


def no_parquet_reader(path: str, python: str) -> EaglerayError:
    """The command is for a Python that has pandas and pyarrow."""
    code = f"import pandas as p; p.read_parquet({path!r}).to_json('rows.jsonl', orient='records', lines=True)"
    command = f"python -c {shlex.quote(code)}"
    return EaglerayError(
        "no-parquet-reader",
        t(
            "{path} is a Parquet file, which {python} can't read.",
            path=printable(path),
            python=printable(python),
        ),
        t("Install pyarrow there, or convert it: {command}", command=printable(command, 2000)),
    )
