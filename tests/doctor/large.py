"""A log of 10 GB, most of it a hole, with an error at its end: `.venv/bin/python -m tests.doctor.large`."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.rule_files import own_rules

SIZE = 10 * 10**9
# As logs have; the rest of each piece is a hole.
LINES = b"2026-11-21 01:25:07 INFO step 3 loss 0.25\n" * 1000
PIECE = 10**8


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "large.log"
        with log.open("wb") as file:
            for start in range(0, SIZE, PIECE):
                file.seek(start)
                file.write(LINES)
            file.seek(SIZE)
            file.write(b"\nOSError: [Errno 24] Too many open files: 'x'\n")
        files, unchecked = list_logs([log])
        began = time.monotonic()
        found = diagnose(files, own_rules(), unchecked)
        seconds = time.monotonic() - began
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    children_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    ids = [cause.id for cause in found.causes]
    print(
        f"{ids}, {SIZE / 1e6 / seconds:.0f} MB/s, {peak_mib:.0f} MiB, grep {children_mib:.0f} MiB"
    )
    return 0 if ids == ["ulimit-nofile"] and peak_mib < 150 and children_mib < 150 else 1


if __name__ == "__main__":
    sys.exit(main())
