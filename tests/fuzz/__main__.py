"""Fuzzes every parser of foreign input: `python -m tests.fuzz [--seconds N] [--target NAME]… [--seed N]`.

What breaks is kept in `out/fuzz`; `--replay FILE` with its target tries it again.  Exit code 1 means that there are faults.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import sys
import time
from pathlib import Path

from tests.fuzz.engine import LONG, ROOT, Fault, fault_of, fuzz, is_slow, smaller
from tests.fuzz.mutation import ODD_TEXTS
from tests.fuzz.registry import STATEFUL, TARGETS
from tests.fuzz.target import Stateful, Target

FOUND = ROOT / "out" / "fuzz"


def main() -> int:
    options = arguments()
    logging.disable(logging.CRITICAL)
    chosen = [
        one for one in (*TARGETS, *STATEFUL) if not options.target or one.name in options.target
    ]
    if not chosen:
        names = ", ".join(one.name for one in (*TARGETS, *STATEFUL))
        print(f"There is no such target. Targets: {names}")
        return 2
    if options.replay is not None:
        return replay(chosen[0], options.replay)
    begun, inputs, faults = time.monotonic(), 0, 0
    for one in chosen:
        tried, wrong = session(one, options) if isinstance(one, Stateful) else target(one, options)
        inputs, faults = inputs + tried, faults + wrong
    took = time.monotonic() - begun
    print(f"{len(chosen)} targets, {inputs} inputs in {took:.0f} s, {faults} faults")
    print(f"{len(chosen) - min(faults, len(chosen))} passed, {faults} failed")
    return 1 if faults else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each target (default: 10)")
    parser.add_argument("--target", action="append", default=[], help="only this one")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random numbers")
    parser.add_argument("--replay", type=Path, help="a file that was kept, with --target")
    return parser.parse_args()


def target(one: Target, options: argparse.Namespace) -> tuple[int, int]:
    result = fuzz(one, options.seconds, options.seed)
    found = [smaller(one, fault) for fault in result.faults.values()]
    found += slow(one)
    per_s = result.inputs / options.seconds
    print(
        f"{one.name:22} {result.inputs:8} inputs {per_s:8.0f}/s {result.lines:5} lines"
        f" {len(found)} faults",
        flush=True,
    )
    for fault in found:
        report(one, fault)
    return result.inputs, len(found)


def session(one: Stateful, options: argparse.Namespace) -> tuple[int, int]:
    inputs, faults = one.run(options.seconds, options.seed)
    print(f"{one.name:22} {inputs:8} inputs {len(faults)} faults", flush=True)
    for fault in faults:
        print(fault)
    return inputs, len(faults)


def slow(one: Target) -> list[Fault]:
    """Pieces of input which, over and over, take far more time than in proportion."""
    if one.kind not in ("text", "bytes"):
        return []
    raw = one.kind == "bytes"
    texts = [*one.words, *ODD_TEXTS, *(seed[:40] for seed in one.seeds if not raw)]
    pieces = [text.encode("utf-8", "replace") if raw else text for text in texts if text]
    return [
        Fault(f"slow for {piece!r}", "", piece * (LONG // len(piece)))
        for piece in pieces
        if is_slow(one, piece)
    ]


def report(one: Target, fault: Fault) -> None:
    content = one.stored(fault.found)
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"{one.name}-{hashlib.sha256(content).hexdigest()[:12]}"
    path.write_bytes(content)
    print(f"  {fault.where}\n{fault.text}  {content[:300]!r}")
    print(f"  npm run fuzz -- --target {one.name} --replay {path.relative_to(ROOT)}", flush=True)


def replay(one: Target | Stateful, file: Path) -> int:
    assert isinstance(one, Target), "a session has no single input"
    fault = fault_of(one, one.loaded(file.read_bytes()))
    print(fault.text if fault else "no fault")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
