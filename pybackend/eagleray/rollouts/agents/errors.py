"""Errors of runs of agents and of their data."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import counted, t


def bad_target(written: str) -> EaglerayError:
    return EaglerayError(
        "bad-agent",
        t("“{text}” doesn't name a class.", text=printable(written, 80)),
        t("Write {forms}.", forms="module:Class or FILE.py:Class"),
    )


def no_data_file(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "no-data",
        t("Can't read {path}: {why}.", path=printable(path), why=printable(why)),
        t("Select a JSONL, JSON or Parquet file."),
    )


def bad_line(path: str, line: int, why: str) -> EaglerayError:
    return EaglerayError(
        "bad-data",
        t("Line {line} of {path} is not JSON: {why}.", line=line, path=printable(path), why=why),
        t("Correct or delete the line, or select another item."),
    )


def long_line(path: str, line: int, most_mb: int) -> EaglerayError:
    return EaglerayError(
        "bad-data",
        t(
            "Line {line} of {path} is longer than {most} MB.",
            line=line,
            path=printable(path),
            most=most_mb,
        ),
        t("Select a file with shorter lines."),
    )


def not_utf_8(path: str, line: int) -> EaglerayError:
    return EaglerayError(
        "bad-data",
        t("Line {line} of {path} is not UTF-8.", line=line, path=printable(path)),
        t("Save the file as UTF-8."),
    )


def no_list(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "bad-data",
        t("{path} is not a JSON list: {why}.", path=printable(path), why=printable(why)),
        t("Write a list, or one item a line as JSONL."),
    )


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


def empty_data(path: str) -> EaglerayError:
    return EaglerayError(
        "no-item",
        t("{path} has no items.", path=printable(path)),
        t("Select a file with at least one item."),
    )


def no_parquet(python: str) -> EaglerayError:
    return EaglerayError(
        "no-parquet",
        t("{python} can't read Parquet files.", python=printable(python)),
        t("Install pyarrow there, or convert the file to JSONL."),
    )


def bad_parquet(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "bad-data",
        t("Can't read rows of {path}: {why}.", path=printable(path), why=printable(why)),
        t("Select another file."),
    )


def runner_not_started(python: str, output: str) -> EaglerayError:
    return EaglerayError(
        "agent-not-started",
        t("{python} couldn't start the agent.", python=printable(python)),
        t("Select an interpreter with Python 3.9 or newer."),
        output=output,
    )


def trace_not_written(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "trace-not-written",
        t("Can't write {path}: {why}.", path=printable(path), why=printable(why)),
        t("Select another file with --out."),
    )


def not_arguments(why: str) -> EaglerayError:
    return EaglerayError(
        "bad-agent",
        t("The arguments of the class are not a JSON object: {why}.", why=printable(why)),
        t("Write {forms}.", forms='{"name": value}'),
    )


def server_without_address(name: str) -> EaglerayError:
    return EaglerayError(
        "server-not-ready",
        t("The server {name} has no address yet.", name=printable(name, 80)),
        t("Wait until it is ready."),
    )


def not_an_item(why: str) -> EaglerayError:
    return EaglerayError(
        "not-an-item",
        t("The text is not a data item: {why}.", why=why),
        t("Enter JSON, such as {example}.", example='{"question": "2+2"}'),
    )


def not_stored(folder: str, why: str) -> EaglerayError:
    return EaglerayError(
        "item-not-stored",
        t("Can't write into {path}: {why}.", path=printable(folder), why=printable(why)),
        t("Free some space, or select a file."),
    )


def agents_not_trusted() -> EaglerayError:
    return EaglerayError(
        "not-trusted",
        t("This workspace isn't trusted, so no agent is run."),
        t("Trust the workspace first."),
    )
