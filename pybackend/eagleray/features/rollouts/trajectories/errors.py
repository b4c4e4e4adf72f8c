"""Errors of dumps of trajectories."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t


def dump_unreadable(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "dump-unreadable",
        t("Can't read {path}: {why}.", path=printable(path), why=printable(why)),
        t("Select a dump of trajectories, or its folder."),
    )


def not_json_lines(path: str, kind: str) -> EaglerayError:
    return EaglerayError(
        "not-json-lines",
        t("{path} is a {kind} file, not JSON lines.", path=printable(path), kind=kind),
        t("Convert it to JSON lines in UTF-8."),
    )


def no_dump_in(path: str) -> EaglerayError:
    return EaglerayError(
        "no-dump",
        t("{path} has no .jsonl file.", path=printable(path)),
        t("Turn on the dump of your trainer, then select its folder."),
    )


def no_item(item: int, items: int) -> EaglerayError:
    return EaglerayError(
        "no-trajectory",
        t("There is no trajectory {item}, only {items}.", item=item, items=items),
        t("The list has their numbers."),
    )
