"""`eagleray rollouts compare`: whether a rollout engine and a trainer compute the same probabilities."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path

from eagleray.app import App
from eagleray.cli.arguments import add_json, completed
from eagleray.cli.output import print_json, say
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.rollouts.comparing import comparison, json_record, texts
from eagleray.rollouts.comparing.comparison_run import ComparisonRequest, compare_named
from eagleray.rollouts.comparing.model import ComparisonKind, EngineComparison
from eagleray.runs.program_kind import active_python

# Scripts rely on them; docs/rollouts.md has the table.
EXIT_CODES = {
    ComparisonKind.CONSISTENT: 0,
    ComparisonKind.KERNEL_MISMATCH: 3,
    ComparisonKind.PRECISION_MISMATCH: 4,
    ComparisonKind.STALE_WEIGHTS: 5,
    ComparisonKind.TEMPLATE_MISMATCH: 6,
    ComparisonKind.TOKENIZER_DRIFT: 7,
    ComparisonKind.SAMPLING_MISMATCH: 8,
    ComparisonKind.UNKNOWN: 9,
    ComparisonKind.AS_USUAL: 10,
    ComparisonKind.OTHER_MODEL: 11,
    ComparisonKind.MISALIGNED: 12,
}
_PROGRESS_S = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    forms = t("Write {forms}.", forms="NAME, http://…, torch:DIR, torch:DIR?dtype=bfloat16 or FILE")
    parser.add_argument("a", metavar="A", help=t("The engine of the rollouts.") + " " + forms)
    parser.add_argument(
        "b", metavar="B", help=t("What computes the trainer's logprobs.") + " " + forms
    )
    data = parser.add_argument(
        "--data",
        metavar="FILE",
        default="",
        help=t("Prompts: JSONL with `prompt` or `messages`. Dumps need none."),
    )
    parser.add_argument(
        "--limit", metavar="N", type=_positive, default=0, help=t("Use only the first N rows.")
    )
    parser.add_argument(
        "--max-tokens",
        metavar="N",
        type=_positive,
        default=comparison.MAX_TOKENS,
        help=t("Generate N tokens at most. The default is {n}.", n=comparison.MAX_TOKENS),
    )
    parser.add_argument(
        "--python",
        metavar="PATH",
        default="",
        help=t("The interpreter with torch and transformers, for torch:DIR."),
    )
    out = parser.add_argument(
        "--out", metavar="FILE", default="", help=t("Save the full record in this file.")
    )
    for action in (data, out):
        completed(action, "files")
    add_json(parser)


def _positive(written: str) -> int:
    number = int(written)
    if number < 1:
        raise ValueError(written)
    return number


async def run(app: App, arguments: argparse.Namespace) -> int:
    request = ComparisonRequest(
        a=arguments.a,
        b=arguments.b,
        data=arguments.data,
        python=arguments.python or active_python(),
        limit=arguments.limit,
        max_tokens=arguments.max_tokens,
    )
    compared = await compare_named(app.servers, request, ComparisonProgress())
    try:
        if arguments.out:
            await off_loop(partial(json_record.save, compared, Path(arguments.out)))
    finally:
        # Also a comparison that can't be saved is worth its time.
        _print(compared, arguments)
    return EXIT_CODES[compared.verdict.reading.kind]


def _print(compared: EngineComparison, arguments: argparse.Namespace) -> None:
    if arguments.json or arguments.format:
        print_json(json_record.as_json(compared))
    else:
        print("\n".join(texts.lines(compared)))


class ComparisonProgress:
    """Says what is being done: each step once, and how far it is every few seconds."""

    def __init__(self) -> None:
        self._doing = ""
        self._at = 0.0

    def __call__(self, doing: str, done: int, total: int) -> None:
        now = time.monotonic()
        if doing == self._doing and now - self._at < _PROGRESS_S:
            return
        self._doing, self._at = doing, now
        is_counted = done or total > 1
        say(printable(f"{doing}: {done}/{total}" if is_counted else f"{doing}…"))
