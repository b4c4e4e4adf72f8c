"""`eagleray presets`: lists, prints and removes presets of short test runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from eagleray.app import App
from eagleray.cli.arguments import completed
from eagleray.cli.command_line import did_you_mean
from eagleray.cli.next_steps import TerminalError
from eagleray.cli.output import print_json, say
from eagleray.cli.runs.shapes import preset_json
from eagleray.cli.table import TableColumn, add_list_output, print_rows
from eagleray.common.l10n import t
from eagleray.runs.presets.errors import unknown_preset
from eagleray.runs.presets.model import PresetRow


def add_list_arguments(parser: argparse.ArgumentParser) -> None:
    add_list_output(parser)


def add_name_argument(parser: argparse.ArgumentParser) -> None:
    name = parser.add_argument(
        "name", metavar="NAME", help=t("Name, as `eagleray presets` lists it.")
    )
    completed(name, "presets")


async def list_presets(app: App, arguments: argparse.Namespace) -> int:
    rows = app.debug_runs.rows(str(Path.cwd()))
    if arguments.json:
        print_json([preset_json(row) for row in rows])
        return 0
    cells = [[row.name, row.framework, "you" if row.own else "Eagleray", row.title] for row in rows]
    print_rows(_COLUMNS, cells, [row.name for row in rows], arguments)
    return 0


async def show(app: App, arguments: argparse.Namespace) -> int:
    print(_named(app, arguments.name).text, end="")
    return 0


async def remove(app: App, arguments: argparse.Namespace) -> int:
    row = _named(app, arguments.name)
    if not row.own:
        say(
            t(
                "Preset {name} is part of Eagleray. You can remove only your own.",
                name=row.name,
            )
        )
        return 1
    app.debug_runs.delete(str(Path.cwd()), row.name)
    say(t("Removed preset {name}.", name=row.name))
    return 0


_COLUMNS = (
    TableColumn("NAME"),
    TableColumn("FRAMEWORK"),
    TableColumn("FROM"),
    TableColumn("TITLE"),
)


def _named(app: App, name: str) -> PresetRow:
    rows = {row.name: row for row in app.debug_runs.rows(str(Path.cwd()))}
    if name in rows:
        return rows[name]
    error = unknown_preset(name)
    hint = did_you_mean(name, rows) or t("List presets: `eagleray presets`.")
    raise TerminalError(error.code, error.message, hint)
