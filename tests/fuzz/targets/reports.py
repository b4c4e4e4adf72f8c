"""Parsers of reports and of what nodes say of them: names, descriptions, manifests, packed and nsys databases."""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
import threading
import zlib
from functools import cache
from pathlib import Path
from typing import Any

from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings import databases, manifest, scanner
from eagleray.profile.recordings.file_names import is_accepted, local_name
from eagleray.profile.reports import summary, texts
from eagleray.profile.reports.database import ReadLimits
from eagleray.profile.reports.metadata import read_note
from eagleray.profile.reports.summary_cache import FORMAT, _converter, _read

from tests.fuzz.target import Target, of_json
from tests.fuzz.targets.scratch import folder, written
from tests.profile.reports.databases import Call, Copy, Kernel, Range, Recording, write

ENTRY = {
    "run": "0123456789ab",
    "size": 10,
    "sha256": "ab" * 32,
    "node": "n1",
    "host": "n1",
    "node_id": "cd",
    "pid": 3,
    "class": "Policy",
    "rank": "3",
    "gpus": ["0"],
    "options": {"trace": "cuda"},
    "started_utc": "2026-01-01T00:00:00Z",
    "nsys_version": "2024.5",
    "report": "a.nsys-rep",
    "report_sha256": "ef" * 32,
    "unpacked": 100,
}
WORKER = {
    "worker_id": "w",
    "pid": 3,
    "name": "policy",
    "class": "Policy",
    "host": "n1",
    "state": "recording",
    "said": "x",
    "reports": ["a.nsys-rep"],
    "node_id": "cd",
    "agent_port": 4000,
}
SMALL = Recording(
    kernels=[Kernel(10 * n, 10 * n + 8, pid=1) for n in range(6)],
    copies=[Copy(0, 5, 100)],
    cuda=[Call(0, 4, "cudaMemcpy")],
    osrt=[Call(0, 4, "read")],
    ranges=[Range(0, 500, "step"), Range(3, 400, "forward", registered=True)],
    threads={4711: "main"},
    gpus={0: "H100"},
)


def described(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    entry = manifest.parse_entry("a.nsys-rep", raw)
    if entry is not None:
        json.dumps(manifest._row(entry))
        assert all(one.isprintable() for one in (entry.name, entry.host, *entry.gpus))
    databases.parse_database("a.sqlite-gz.json", raw, None)  # type: ignore[arg-type]  # The source is only stored.
    scanner.parse_worker("a.worker.json", raw)
    scanner.parse_classes(raw)


def listed(text: str) -> None:
    """A list that was read is written, and read again as the same."""
    path = written("reports/manifest.json", text)
    seen = manifest.read(path.parent, "0123456789ab")
    manifest.write(path.parent, seen)
    assert manifest.read(path.parent, "0123456789ab").reports == seen.reports
    read_note(path.parent / "a.nsys-rep")


def names(text: str) -> None:
    """A name that is taken is one name in one folder; what it is called here is plain and free."""
    if is_accepted(text):
        assert Path("/x", text).parent == Path("/x") and "\0" not in text
    called = local_name(text, ["report.nsys-rep"])
    assert Path("/x", called).parent == Path("/x") and called.isascii() and called.isprintable()
    assert not called.startswith((".", "-")) and len(called) < 256


def packed(raw: bytes) -> None:
    """An unpacked file has the announced size, or doesn't exist."""
    source, database = written("packed/a.sqlite-gz", raw), folder() / "packed" / "a.sqlite"
    database.unlink(missing_ok=True)
    try:
        databases.unpack(source, database, 100, threading.Event())
    except databases._UnavailableError:
        assert not database.exists()
    else:
        assert database.stat().st_size == 100


def kept_summary(text: str) -> None:
    kept = _read(written("kept/summary", text))
    if kept is not None:
        for table in kept.summary.tables:
            texts.table_text(table, "csv")
            texts.table_text(table, "markdown")


def database(raw: bytes) -> None:
    path = written("databases/a.sqlite", raw)
    seen = summary.read(path, "", ReadLimits(20.0))
    for table in seen.tables:
        texts.table_text(table, "csv")
        texts.table_text(table, "markdown")


@cache
def small_database() -> bytes:
    path = folder() / "seed.sqlite"
    path.unlink(missing_ok=True)
    return write(path, SMALL).read_bytes()


def changed_database(statements: Any) -> None:
    """A sound database whose values are odd: each change is a table, a column and a value."""
    path = written("databases/b.sqlite", small_database())
    connection = sqlite3.connect(path)
    try:
        for statement in statements if isinstance(statements, list) else ():
            _apply(connection, statement)
        connection.commit()
    finally:
        connection.close()
    seen = summary.read(path, "", ReadLimits(20.0))
    for table in seen.tables:
        texts.table_text(table, "csv")


def _apply(connection: sqlite3.Connection, statement: Any) -> None:
    names_ = [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]
    rand = random.Random(zlib.crc32(json.dumps(statement).encode()))
    table = rand.choice(sorted(names_))
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    value = statement.get("value") if isinstance(statement, dict) else statement
    if isinstance(value, (list, dict)):
        value = json.dumps(value).encode()
    try:
        where = rand.choice(("", " WHERE rowid % 2", " WHERE rowid = 1"))
        column = rand.choice(columns)
        if rand.random() < 0.1:
            connection.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO x{column}")
        else:
            connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?{where}", (value,))
    except (sqlite3.Error, OverflowError, UnicodeEncodeError):
        return


def kept_seed() -> dict[str, Any]:
    seen = summary.read(written("databases/c.sqlite", small_database()), "", ReadLimits())
    kept = {"format": FORMAT, "size": 1, "mtime_ns": 1, "trace": "", "summary": seen}
    found_: dict[str, Any] = _converter.unstructure(kept)
    return found_


TARGETS = [
    of_json("report-descriptions", described, [ENTRY, WORKER, {"run": "r", "classes": ["a:B"]}]),
    of_json(
        "manifests",
        listed,
        [
            {
                "run": "0123456789ab",
                "reports": [{**ENTRY, "source": "a.nsys-rep", "file": "b.nsys-rep"}],
                "missing": [],
            }
        ],
    ),
    Target(
        "report-names",
        "text",
        names,
        ["a.nsys-rep", "Policy_0.rank3.nsys-rep", "é.nsys-rep"],
        (),
        ("..", "/", "\\", ".nsys-rep", "\0", "-", "."),
    ),
    Target(
        "packed-databases",
        "bytes",
        packed,
        [gzip.compress(b"SQLite format 3\0" + bytes(84)), gzip.compress(bytes(100))],
    ),
    of_json("kept-summaries", kept_summary, [kept_seed()]),
    Target("nsys-databases", "bytes", database, [small_database()], (EaglerayError,)),
    Target(
        "nsys-values",
        "value",
        changed_database,
        [[{"value": 1}, {"value": "x"}, {"value": 1.5}, {"value": None}]],
        (EaglerayError,),
    ),
]
