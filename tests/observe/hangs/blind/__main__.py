"""Scores the verdicts on all programs of this folder: `python -m tests.observe.hangs.blind [NAME...] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from tests.observe.hangs.blind.harness import TABLE
from tests.observe.hangs.blind.score import Score, score, summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these programs")
    parser.add_argument("--json", type=Path, help="where the scores are kept")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in TABLE]
    if unknown:
        parser.error(f"no such program: {', '.join(unknown)}")
    scores: list[Score] = []
    failures: list[str] = []
    for name in options.names or TABLE:
        try:
            scores.append(score(name))
            print(scores[-1].line(), flush=True)
        # A program that doesn't start here must not cost the score of the others.
        except Exception as error:
            failures.append(name)
            print(f"{name}: not scored: {type(error).__name__}: {error}", flush=True)
        if options.json:
            rows = [asdict(each) for each in scores]
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(summary(scores))
    if failures:
        print(f"{len(failures)} not scored: {', '.join(failures)}")


if __name__ == "__main__":
    main()
