"""Records the sample report of the walkthrough with a real nsys: `python -m tests.profile.reports.sample`."""

from __future__ import annotations

import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

from tests.adapter.harness import ROOT
from tests.profile.reports.recorded import compiled
from tests.remote.injected.real_nsys import real_nsys

SAMPLE = ROOT / "samples" / "policy-0.sqlite"
PROGRAM = Path(__file__).parent / "programs" / "training.c"
STEPS = 60
# Small pages, since nsys writes many tables with few rows.
PAGE_BYTES = 512


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = record(Path(folder))
        shrink(database)
        SAMPLE.write_bytes(database.read_bytes())
    print(f"{SAMPLE}: {SAMPLE.stat().st_size} bytes")


def record(folder: Path) -> Path:
    """The database of a recorded program, as nsys exports it."""
    report = folder / "policy-0.nsys-rep"
    options = ["--trace=nvtx,osrt", "--sample=none", "--cpuctxsw=none", "--osrt-threshold=100000"]
    command = [real_nsys(), "profile", *options, "-o", str(report)]
    subprocess.run([*command, str(compiled(folder, PROGRAM)), str(STEPS)], check=True, timeout=300)
    database = report.with_suffix(".sqlite")
    export = [real_nsys(), "export", "--type=sqlite", f"--output={database}", str(report)]
    subprocess.run(export, check=True, timeout=300)
    return database


def shrink(file: Path) -> None:
    """Drops what says something about this machine, and what no table of a report reads."""
    with closing(sqlite3.connect(file)) as database:
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in tables:
            (rows,) = database.execute(f'SELECT count(*) FROM "{table}"').fetchone()
            if rows == 0 or table not in KEPT:
                database.execute(f'DROP TABLE "{table}"')
        threads = "SELECT globalTid FROM NVTX_EVENTS UNION SELECT globalTid FROM OSRT_API"
        database.execute(f"DELETE FROM ThreadNames WHERE globalTid NOT IN ({threads})")
        database.execute(
            "DELETE FROM StringIds WHERE id NOT IN (SELECT nameId FROM ThreadNames"
            " UNION SELECT nameId FROM OSRT_API"
            " UNION SELECT textId FROM NVTX_EVENTS WHERE textId IS NOT NULL)"
        )
        database.execute(
            "UPDATE TARGET_INFO_SYSTEM_ENV SET value = 'node-1' WHERE name = 'Hostname'"
        )
        database.execute("DELETE FROM TARGET_INFO_SYSTEM_ENV WHERE name <> 'Hostname'")
        database.execute(
            "DELETE FROM EXPORT_META_DATA WHERE name LIKE '%PATH%' OR name = 'EXPORT_HOST'"
        )
        database.commit()
        database.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        database.execute("VACUUM")


KEPT = {
    "ANALYSIS_DETAILS",
    "EXPORT_META_DATA",
    "META_DATA_EXPORT",
    "NVTX_EVENTS",
    "OSRT_API",
    "StringIds",
    "TARGET_INFO_SESSION_START_TIME",
    "TARGET_INFO_SYSTEM_ENV",
    "ThreadNames",
}


if __name__ == "__main__":
    main()
