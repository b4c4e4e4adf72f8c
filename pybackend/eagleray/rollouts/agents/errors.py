"""Errors of runs of agents and of their data."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import counted, t


# fmt: off
@error("no-data", "Can't read {path}: {why}.", "Select a JSONL, JSON or Parquet file.")
def no_data_file(path: str, why: str) -> EaglerayError: ...
@error("bad-data", "Line {line} of {path} is not JSON: {why}.", "Correct or delete the line, or select another item.")
def bad_line(path: str, line: int, why: str) -> EaglerayError: ...
@error("bad-data", "Line {line} of {path} is longer than {most} MB.", "Select a file with shorter lines.")
def long_line(path: str, line: int, most: int) -> EaglerayError: ...
@error("bad-data", "Line {line} of {path} is not UTF-8.", "Save the file as UTF-8.")
def not_utf_8(path: str, line: int) -> EaglerayError: ...
@error("bad-data", "{path} is not a JSON list: {why}.", "Write a list, or one item a line as JSONL.")
def no_list(path: str, why: str) -> EaglerayError: ...
@error("no-item", "{path} has no items.", "Select a file with at least one item.")
def empty_data(path: str) -> EaglerayError: ...
@error("no-parquet", "{python} can't read Parquet files.", "Install pyarrow there, or convert the file to JSONL.")
def no_parquet(python: str) -> EaglerayError: ...
@error("bad-data", "Can't read rows of {path}: {why}.", "Select another file.")
def bad_parquet(path: str, why: str) -> EaglerayError: ...
@error("agent-not-started", "{python} couldn't start the agent.", "Select an interpreter with Python 3.9 or newer.")
def runner_not_started(python: str, output: str) -> EaglerayError: ...
@error("trace-not-written", "Can't write {path}: {why}.", "Select another file with --out.")
def trace_not_written(path: str, why: str) -> EaglerayError: ...
@error("item-not-stored", "Can't write into {path}: {why}.", "Free some space, or select a file.")
def not_stored(path: str, why: str) -> EaglerayError: ...
@error("not-trusted", "This workspace isn't trusted, so no agent is run.", "Trust the workspace first.")
def agents_not_trusted() -> EaglerayError: ...
@error("bad-agent", "“{text}” doesn't name a class.", "Write {forms}.")
def bad_target(text: str, forms: str = "module:Class or FILE.py:Class") -> EaglerayError: ...
@error("bad-agent", "The arguments of the class are not a JSON object: {why}.", "Write {forms}.")
def not_arguments(why: str, forms: str = '{"name": value}') -> EaglerayError: ...
@error("not-an-item", "The text is not a data item: {why}.", "Enter JSON, such as {example}.")
def not_an_item(why: str, example: str = '{"question": "2+2"}') -> EaglerayError: ...
# fmt: on


def no_item(path: str, number: int, total: int) -> EaglerayError:
    return EaglerayError(
        "no-item",
        counted(
            total,
            "{path} has only {n} item. Item {number} doesn't exist.",
            "{path} has only {n} items. Item {number} doesn't exist.",
            path=printable(path),
            number=number,
        ),
        t("Items count from 1."),
    )
