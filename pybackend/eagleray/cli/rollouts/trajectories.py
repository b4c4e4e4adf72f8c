"""`eagleray rollouts show`: the trajectories of a dump as a list, one of them in full, its group, or all summed up."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from eagleray.app import App
from eagleray.cli.arguments import add_json, completed, positive
from eagleray.cli.output import print_json
from eagleray.cli.rollouts.shapes import trajectories_json
from eagleray.cli.styles import Style, styled
from eagleray.cli.table import TableColumn, table_lines
from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t
from eagleray.rollouts.trajectories.model import (
    DumpStatistics,
    NamedText,
    Spread,
    TrajectoryGroup,
    TrajectoryItem,
    TrajectoryPage,
    TrajectoryQuery,
    TrajectoryRow,
)
from eagleray.rollouts.trajectories.reading import OnProgress
from eagleray.rollouts.trajectories.rows import ItemLimits

FILTERS = ("problems", "truncated", "zero-advantage", "duplicates")
USUAL_ROWS = 50
# Groups in the statistics.
USUAL_GROUPS = 20

COLUMNS = (
    TableColumn("ITEM"),
    TableColumn("REWARD"),
    TableColumn("TOKENS", optional=True),
    TableColumn("VERSION", optional=True),
    TableColumn("STEP", optional=True),
    TableColumn("GROUP", wide=True),
    TableColumn("SAMPLE", wide=True),
    TableColumn("FILE", wide=True),
    TableColumn("LINE", wide=True),
    TableColumn("PROMPT"),
    TableColumn("COMPLETION"),
    TableColumn("NOTE", optional=True),
)
GROUP_COLUMNS = (
    TableColumn("ITEM"),
    TableColumn("SIZE"),
    TableColumn("MEAN"),
    TableColumn("MIN"),
    TableColumn("MAX"),
    TableColumn("NOTE", optional=True),
    TableColumn("GROUP"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    path = parser.add_argument(
        "path", metavar="PATH", help=t("A dump of trajectories, or a folder of them.")
    )
    completed(path, "files")
    parser.add_argument(
        "--search", metavar="TEXT", default="", help=t("List only trajectories with this text.")
    )
    parser.add_argument(
        "--filter", choices=FILTERS, default="", help=t("List only these trajectories.")
    )
    parser.add_argument(
        "--min-reward", metavar="X", type=_number, help=t("List only rewards of X or more.")
    )
    parser.add_argument(
        "--max-reward", metavar="X", type=_number, help=t("List only rewards of X or less.")
    )
    parser.add_argument(
        "--sort", choices=("reward", "length"), default="", help=t("Sort the smallest first.")
    )
    parser.add_argument("--descending", action="store_true", help=t("Reverse the order."))
    parser.add_argument(
        "--top",
        metavar="N",
        type=positive,
        default=USUAL_ROWS,
        help=t("List N trajectories. The default is {count}.", count=USUAL_ROWS),
    )
    parser.add_argument("--wide", action="store_true", help=t("Print more columns."))
    parser.add_argument(
        "--item", metavar="N", type=positive, help=t("Print trajectory N of the list in full.")
    )
    parser.add_argument(
        "--group", metavar="N", type=positive, help=t("Print all trajectories of its group.")
    )
    parser.add_argument("--stats", action="store_true", help=t("Sum up all trajectories."))


def check(arguments: argparse.Namespace) -> str:
    if sum((arguments.item is not None, arguments.group is not None, arguments.stats)) > 1:
        return t("Use only one of --item, --group and --stats.")
    return ""


async def show(app: App, arguments: argparse.Namespace) -> int:
    path, progress = arguments.path, _progress()
    trajectories = app.trajectories
    if arguments.item is not None:
        item = await trajectories.item(path, arguments.item, ItemLimits())
        _print(arguments, trajectories_json(path, item=item), _item_lines(item))
    elif arguments.group is not None:
        group = await trajectories.group(path, arguments.group, progress)
        _print(arguments, trajectories_json(path, group=group), _group_lines(group))
    elif arguments.stats:
        summed = await trajectories.statistics(path, progress)
        _print(arguments, trajectories_json(path, statistics=summed), _statistics_lines(summed))
    else:
        page = await trajectories.page(_query(arguments), progress)
        _print(arguments, trajectories_json(path, page=page), _page_lines(page, arguments.wide))
        _print_rest(page, arguments)
    return 0


def _query(arguments: argparse.Namespace) -> TrajectoryQuery:
    return TrajectoryQuery(
        arguments.path,
        search=arguments.search,
        filter=arguments.filter,
        least_reward=arguments.min_reward,
        most_reward=arguments.max_reward,
        sort=arguments.sort,
        descending=arguments.descending,
        limit=arguments.top,
    )


def _print(arguments: argparse.Namespace, shape: object, lines: Sequence[str]) -> None:
    if arguments.json:
        print_json(shape)
        return
    for line in lines:
        print(line)


def _print_rest(page: TrajectoryPage, arguments: argparse.Namespace) -> None:
    """Prints on standard error what the list leaves out."""
    for line in page.unfinished:
        sentence = t("Line {line} of {file} isn't complete.", line=line.line, file=line.file)
        print(sentence, file=sys.stderr)
    for note in page.notes:
        print(note, file=sys.stderr)
    if not page.rows:
        print(t("No trajectory matches."), file=sys.stderr)
    elif page.next is not None and not arguments.json:
        shown = len(page.rows)
        if page.matches is None:
            print(t("These are the first {count}.", count=shown), file=sys.stderr)
        else:
            print(
                t("These are the first {count} of {all}.", count=shown, all=page.matches),
                file=sys.stderr,
            )


def _page_lines(page: TrajectoryPage, wide: bool) -> list[str]:
    return table_lines(COLUMNS, [_cells(row) for row in page.rows], wide=wide, headers=True)


def _cells(row: TrajectoryRow) -> list[str]:
    return [
        str(row.item),
        _value(row.reward),
        _whole(row.tokens),
        _versions(row),
        _whole(row.step),
        row.group,
        _whole(row.sample),
        row.file,
        str(row.line),
        row.prompt,
        row.completion,
        _note(row),
    ]


def _note(row: TrajectoryRow) -> str:
    return row.problem or (t("cut") if row.truncated else "")


def _versions(row: TrajectoryRow) -> str:
    if row.first_version == row.last_version or row.last_version is None:
        return _whole(row.first_version)
    return f"{_whole(row.first_version)}-{row.last_version}"


def _item_lines(item: TrajectoryItem) -> list[str]:
    row = item.row
    facts = [
        (t("File"), f"{row.file}:{row.line}"),
        (t("Format"), row.format),
        (t("Group"), row.group),
        (t("Sample"), _whole(row.sample)),
        (t("Step"), _whole(row.step)),
        (t("Reward"), _value(row.reward)),
        (t("Tokens"), _whole(row.tokens)),
        (t("Prompt tokens"), _whole(row.prompt_tokens)),
        (t("Versions"), _versions(row)),
        (t("Cut"), "" if row.truncated is None else t("yes") if row.truncated else t("no")),
        (t("Problem"), row.problem),
        *((each.name, printable(each.text, 1000)) for each in item.fields if not _is_block(each)),
    ]
    lines = [f"{name}: {value}" for name, value in facts if value]
    for turn in item.turns:
        trained = "" if turn.trained is None else t("trained") if turn.trained else t("not trained")
        heading = " · ".join(part for part in (turn.role, trained) if part)
        lines += ["", styled(f"[{heading}]", Style.HEADING), *_text_lines(turn.text)]
    for field in filter(_is_block, item.fields):
        heading = printable(field.name)
        lines += ["", styled(f"[{heading}]", Style.HEADING), *_text_lines(field.text)]
    return [*lines, *(["", *_text_lines(item.raw)] if item.raw else [])]


def _is_block(field: NamedText) -> bool:
    """Whether it has lines, as what an agent printed."""
    return "\n" in field.text


def _text_lines(text: str) -> list[str]:
    """The lines of a text without control characters, which could steer the terminal."""
    return [printable(line.expandtabs(4), len(line) * 4 + 1) for line in text.splitlines()]


def _group_lines(group: TrajectoryGroup) -> list[str]:
    lines = [styled(f"[{group.name or t('prompt')}]", Style.HEADING), *_text_lines(group.prompt)]
    if group.equal_rewards:
        lines += ["", t("All rewards are equal: no advantage.")]
    for member in group.members:
        notes = [
            t("item {item}", item=member.row.item),
            t("reward {reward}", reward=_value(member.row.reward) or "-"),
            _note(member.row),
            t("same as item {item}", item=member.duplicate_of) if member.duplicate_of else "",
        ]
        heading = " · ".join(note for note in notes if note)
        lines += ["", styled(f"[{heading}]", Style.HEADING), *_text_lines(member.completion)]
    return lines


def _statistics_lines(summed: DumpStatistics) -> list[str]:
    lines = [
        ", ".join(
            (
                counted(
                    summed.items,
                    "{n} trajectory ({formats})",
                    "{n} trajectories ({formats})",
                    formats=", ".join(summed.formats) or "-",
                ),
                t("- groups")
                if summed.groups is None
                else counted(summed.groups, "{n} group", "{n} groups"),
                t("{singles} without a group", singles=_whole(summed.singles) or "-"),
            )
        )
    ]
    lines += [finding.sentence for finding in summed.findings]
    unit = t("tokens") if summed.unit == "tokens" else t("characters")
    lines += [
        "",
        _spread_line(t("Rewards"), summed.rewards),
        _spread_line(t("Completions in {unit}", unit=unit), summed.lengths),
        "",
    ]
    rows = [
        [
            str(group.item),
            str(group.size),
            _value(group.mean),
            _value(group.least),
            _value(group.most),
            t("no advantage") if group.equal_rewards else "",
            group.name,
        ]
        for group in summed.by_group[:USUAL_GROUPS]
    ]
    return lines + table_lines(GROUP_COLUMNS, rows, wide=False, headers=True)


def _spread_line(name: str, spread: Spread) -> str:
    return t(
        "{name}: min {least}, mean {mean}, p50 {median}, p90 {p90}, max {most}",
        name=name,
        least=_value(spread.least) or "-",
        mean=_value(spread.mean) or "-",
        median=_value(spread.median) or "-",
        p90=_value(spread.p90) or "-",
        most=_value(spread.most) or "-",
    )


def _value(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"


def _whole(number: int | None) -> str:
    return "" if number is None else str(number)


def _number(text: str) -> float:
    number = float(text)
    if math.isnan(number):
        raise argparse.ArgumentTypeError(t("must be a number"))
    return number


def _progress() -> OnProgress:
    """Prints each tenth, on a terminal."""
    printed: list[tuple[str, int]] = []

    def print_step(text: str, percentage: int) -> None:
        step = (text, percentage // 10)
        if sys.stderr.isatty() and (not printed or printed[-1] != step):
            printed.append(step)
            print(f"{text}: {percentage} %", file=sys.stderr, flush=True)

    return print_step
