"""`eagleray schema`: prints the JSON schema of what a command prints with --json."""

from __future__ import annotations

import argparse

from eagleray.cli.json_schemas import SHAPES, json_schema
from eagleray.cli.output import print_json
from eagleray.common.l10n import t

# The schema of each command that prints JSON.
NAMES = {name: shape for shape in SHAPES for name in (*shape.split(", "), shape)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        choices=[name for name in NAMES if "," not in name],
        help=t("Print the schema of this command. Without it, the names are listed."),
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.name:
        print_json(json_schema(NAMES[arguments.name]))
    else:
        print(*(name for name in NAMES if "," not in name), sep="\n")
    return 0
