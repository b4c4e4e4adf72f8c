"""`eagleray rollouts batch`: what is in a saved batch, or a batch of a dump."""

from __future__ import annotations

import argparse
import os
import sys

from eagleray.app import App
from eagleray.cli.arguments import add_json, completed, positive
from eagleray.cli.output import print_json
from eagleray.cli.rollouts.shapes import batch_json
from eagleray.cli.styles import Style, styled
from eagleray.cli.table import TableColumn, table_lines
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.rollouts.batches import batches
from eagleray.rollouts.batches.errors import NeedsUnpickleError
from eagleray.rollouts.batches.findings import findings
from eagleray.rollouts.batches.model import BatchSummary, BatchTensor
from eagleray.rollouts.comparing.engines.wave_prompts import listed_server
from eagleray.runs.program_kind import active_python

COLUMNS = (
    TableColumn("TENSOR"),
    TableColumn("SHAPE"),
    TableColumn("DTYPE"),
    TableColumn("MIN"),
    TableColumn("MEAN"),
    TableColumn("MAX"),
    TableColumn("STD"),
    TableColumn("NAN", optional=True),
    TableColumn("INF", optional=True),
    TableColumn("ROW SUMS", optional=True),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    file = parser.add_argument(
        "file", metavar="FILE", help=t("A file of torch.save, or with --save a dump.")
    )
    completed(file, "files")
    parser.add_argument(
        "--python", metavar="PYTHON", default="", help=t("The Python that has torch.")
    )
    parser.add_argument(
        "--vocabulary", metavar="N", type=positive, help=t("Check that all ids are below N.")
    )
    parser.add_argument(
        "--unpickle",
        action="store_true",
        help=t("Execute the code that the file names. Only if you trust it."),
    )
    parser.add_argument(
        "--save",
        metavar="BATCH",
        default="",
        help=t("Make a batch of the trajectories of a dump."),
    )
    server = parser.add_argument(
        "--server",
        metavar="NAME|URL",
        default="",
        help=t("With --save: the server of the wave, for the token ids of its prompts."),
    )
    completed(server, "servers")


def check(arguments: argparse.Namespace) -> str:
    if arguments.save and (arguments.unpickle or arguments.vocabulary):
        return t("Use --save without --unpickle and --vocabulary.")
    if arguments.server and not arguments.save:
        return t("Use --server with --save.")
    return ""


async def batch(app: App, arguments: argparse.Namespace) -> int:
    python = arguments.python or active_python()
    if arguments.save:
        path = absolute(arguments.save)
        address_of = listed_server(app.servers, arguments.server)
        written = await batches.save(arguments.file, path, python, address_of)
        if written.skipped:
            print(
                t("{count} trajectories have no token ids or reward.", count=written.skipped),
                file=sys.stderr,
            )
        print(t("Saved {count} trajectories.", count=written.rows), file=sys.stderr)
        arguments = argparse.Namespace(**{**vars(arguments), "file": path})
    try:
        summary = await batches.summary(arguments.file, python)
    except NeedsUnpickleError as error:
        if not arguments.unpickle:
            raise
        names = printable(", ".join(error.names), 4000)
        print(
            t("Executing what {file} names: {names}", file=arguments.file, names=names),
            file=sys.stderr,
        )
        summary = await batches.summary(arguments.file, python, error.names)
    sentences = findings(summary, arguments.vocabulary)
    if arguments.json:
        print_json(batch_json(arguments.file, summary, sentences))
        return 0
    for line in _lines(summary, sentences):
        print(line)
    return 0


def absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111  # Reads nothing of the disk.


def _lines(summary: BatchSummary, sentences: list[str]) -> list[str]:
    how = (
        t("loaded without executing anything")
        if summary.loaded == "weights_only"
        else t("unpickled: {names}", names=printable(", ".join(summary.names), 400))
    )
    lines = [f"{printable(summary.kind)} · torch {printable(summary.torch, 40)} · {how}"]
    lines += [styled(printable(sentence, 300), Style.HEADING) for sentence in sentences]
    rows = [_cells(tensor) for tensor in summary.tensors]
    lines += ["", *table_lines(COLUMNS, rows, wide=False, headers=True)]
    if summary.masked:
        lines += ["", t("Of trained tokens:")]
        lines += [
            f"  {printable(values.name)}: {values.count} · {_value(values.least)} … {_value(values.most)} · "
            f"{t('mean {mean}', mean=_value(values.mean))} · {t('std {std}', std=_value(values.std))}"
            for values in summary.masked
        ]
    if summary.values:
        lines += [
            "",
            *(_value_line(value.name, value.type, value.text) for value in summary.values),
        ]
    if summary.left_out:
        lines += [t("{count} more parts.", count=summary.left_out)]
    return lines


def _value_line(name: str, kind: str, text: str) -> str:
    return f"{printable(name)} ({printable(kind)}): {printable(text)}"


def _cells(tensor: BatchTensor) -> list[str]:
    sums = tensor.row_sums
    return [
        tensor.name,
        "x".join(map(str, tensor.shape)) or "1",
        tensor.dtype,
        _value(tensor.least),
        _value(tensor.mean),
        _value(tensor.most),
        _value(tensor.std),
        str(tensor.nan or ""),
        str(tensor.infinite or ""),
        "" if sums is None else f"{sums.least:g}-{sums.most:g}",
    ]


def _value(number: float | None) -> str:
    return "" if number is None else f"{number:.5g}"
