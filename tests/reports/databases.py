"""Databases with chosen events, as `nsys export --type sqlite` writes them: `write(path, Recording(…))`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import field, frozen

PUSH_POP, START_END, DOMAIN_CREATE = 59, 60, 75
PID = 4711
GRID = (1, 1, 1, 128, 1, 1)
GLOBAL_PID = (1 << 48) | (PID << 24)

# The columns that are documented and may not be null, in the types of schema 3.0.0.
TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "EXPORT_META_DATA": "name TEXT NOT NULL, value TEXT",
    "TARGET_INFO_SYSTEM_ENV": (
        "globalVid INTEGER NOT NULL, devStateName TEXT NOT NULL, name TEXT NOT NULL,"
        " nameEnum INTEGER NOT NULL, value TEXT NOT NULL"
    ),
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "ANALYSIS_DETAILS": (
        "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL,"
        " stopTime INTEGER NOT NULL"
    ),
    "TARGET_INFO_GPU": (
        "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, uuid TEXT"
    ),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
        " contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,"
        " globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL,"
        " gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,"
        " blockZ INTEGER"
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
        " contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,"
        " globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,"
        " globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,"
        " returnValue INTEGER NOT NULL, callchainId INTEGER"
    ),
    "OSRT_API": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,"
        " globalTid INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,"
        " nestingLevel INTEGER, callchainId INTEGER NOT NULL"
    ),
    "NVTX_EVENTS": (
        "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,"
        " category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER,"
        " textId INTEGER, domainId INTEGER"
    ),
    "ThreadNames": "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
}


@frozen
class Kernel:
    start: int
    end: int
    name: str = "gemm"
    device: int = 0
    pid: int = PID


@frozen
class Copy:
    start: int
    end: int
    bytes: int
    kind: int = 1
    device: int = 0


@frozen
class Call:
    start: int
    end: int
    name: str
    tid: int = PID


@frozen
class Range:
    """`registered`: the name is one of StringIds, as a library of NVTX may do it."""

    start: int
    end: int | None
    name: str
    kind: int = PUSH_POP
    registered: bool = False
    domain: int = 0
    tid: int = PID
    pid: int = PID


@frozen
class Recording:
    """What a database holds; a table without rows is not made, as nsys does it."""

    kernels: Iterable[Kernel] = ()
    copies: Iterable[Copy] = ()
    cuda: Iterable[Call] = ()
    osrt: Iterable[Call] = ()
    ranges: Iterable[Range] = ()
    domains: dict[int, str] = field(factory=dict)
    threads: dict[int, str] = field(factory=dict)
    gpus: dict[int, str] = field(factory=dict)
    host: str = "node-7"
    utc_ns: int = 1_795_298_500_642_736_075
    begin: int = 0
    end: int = 1_000_000_000
    schema: str = "3.0.0"


class Strings:
    """StringIds: the number of each text."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def id(self, text: str) -> int:
        return self.ids.setdefault(text, len(self.ids) + 1)


def global_tid(pid: int, tid: int) -> int:
    return (1 << 48) | (pid << 24) | tid


def write(path: Path, recording: Recording) -> Path:
    """Makes the database at `path`."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=OFF")
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("BEGIN")
    strings = Strings()
    for table, rows in _rows(recording, strings):
        insert(connection, table, rows)
    insert(connection, "StringIds", ((number, text) for text, number in strings.ids.items()))
    connection.execute("COMMIT")
    connection.close()
    return path


def insert(connection: sqlite3.Connection, table: str, rows: Iterable[tuple[object, ...]]) -> None:
    """Nothing is made of no rows."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    connection.execute(f"CREATE TABLE {table} ({TABLES[table]})")
    places = ",".join("?" * len(first))
    connection.execute(f"INSERT INTO {table} VALUES ({places})", first)
    connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


def _rows(
    recording: Recording, strings: Strings
) -> Iterator[tuple[str, Iterable[tuple[object, ...]]]]:
    id_of = strings.id
    meta = {
        "EXPORT_PRODUCT_NAME": "NVIDIA Nsight Systems",
        "EXPORT_PRODUCT_VERSION": "2022.4.2.1",
        "EXPORT_SCHEMA_VERSION": recording.schema,
    }
    yield "EXPORT_META_DATA", meta.items()
    host = [(1 << 48, "Local (CLI)", "Hostname", 619, recording.host)]
    yield "TARGET_INFO_SYSTEM_ENV", host if recording.host else ()
    yield "TARGET_INFO_SESSION_START_TIME", [(recording.utc_ns, "", "")] if recording.utc_ns else []
    yield (
        "ANALYSIS_DETAILS",
        [(1 << 48, recording.end - recording.begin, recording.begin, recording.end)],
    )
    yield "TARGET_INFO_GPU", [(0, key, name, 80 << 30, "") for key, name in recording.gpus.items()]
    yield (
        "CUPTI_ACTIVITY_KIND_KERNEL",
        (_kernel(k, number, strings) for number, k in enumerate(recording.kernels)),
    )
    yield (
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        (
            (c.start, c.end, c.device, 1, 7, 0, GLOBAL_PID, c.bytes, c.kind)
            for c in recording.copies
        ),
    )
    yield (
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        (
            (c.start, c.end, 0, global_tid(PID, c.tid), 0, id_of(c.name), 0, None)
            for c in recording.cuda
        ),
    )
    yield (
        "OSRT_API",
        (
            (c.start, c.end, 27, global_tid(PID, c.tid), id_of(c.name), 0, 0, 0)
            for c in recording.osrt
        ),
    )
    yield "NVTX_EVENTS", _nvtx(recording, strings)
    yield (
        "ThreadNames",
        ((id_of(name), 20, global_tid(PID, tid)) for tid, name in recording.threads.items()),
    )


def _kernel(k: Kernel, number: int, strings: Strings) -> tuple[object, ...]:
    names = strings.id(k.name), strings.id(k.name.split("(")[0])
    return (k.start, k.end, k.device, 1, 7, number, (1 << 48) | (k.pid << 24), *names, *GRID)


def _nvtx(recording: Recording, strings: Strings) -> Iterator[tuple[object, ...]]:
    for number, name in recording.domains.items():
        where = global_tid(PID, PID)
        yield (0, None, DOMAIN_CREATE, None, None, None, name, where, None, None, number)
    for range_ in recording.ranges:
        text = None if range_.registered else range_.name
        text_id = strings.id(range_.name) if range_.registered else None
        where = global_tid(range_.pid, range_.tid)
        yield (
            range_.start,
            range_.end,
            range_.kind,
            1,
            None,
            255,
            text,
            where,
            None,
            text_id,
            range_.domain,
        )
