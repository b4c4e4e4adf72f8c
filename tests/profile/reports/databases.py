"""Databases with chosen events, as `nsys export --type sqlite` writes them: `write(path, Recording(…))`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import field, frozen

from tests.profile.reports.schemas import OF_2026, Generation

PUSH_POP, START_END, DOMAIN_CREATE, MARK = 59, 60, 75, 34
PID = 4711
GLOBAL_PID = (1 << 48) | (PID << 24)
# The number of migrations of unified memory to a GPU, in ENUM_CUDA_MEMCPY_OPER.
UNIFIED_TO_DEVICE = 11

Row = dict[str, object]


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
class Memset:
    start: int
    end: int
    bytes: int
    device: int = 0


@frozen
class Graph:
    """A graph that nsys records as one, as it does by default."""

    start: int
    end: int
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
    """The content of a database; a table without rows is not made, as nsys does it."""

    kernels: Iterable[Kernel] = ()
    graphs: Iterable[Graph] = ()
    copies: Iterable[Copy] = ()
    sets: Iterable[Memset] = ()
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
    generation: Generation = OF_2026
    # Rows of other tables, by table.
    others: dict[str, list[Row]] = field(factory=dict)


class Strings:
    """StringIds: the number of each text."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def id(self, text: str) -> int:
        return self.ids.setdefault(text, len(self.ids) + 1)


def global_tid(pid: int, tid: int) -> int:
    return (1 << 48) | (pid << 24) | tid


def write(path: Path, recording: Recording) -> Path:
    """Makes the database at `path`, in the schema of the recording's generation."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=OFF")
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("BEGIN")
    strings = Strings()
    for table, rows in _rows(recording, strings):
        insert(connection, recording.generation, table, rows)
    texts = ({"id": number, "value": text} for text, number in strings.ids.items())
    insert(connection, recording.generation, "StringIds", texts)
    connection.execute("COMMIT")
    connection.close()
    return path


def insert(
    connection: sqlite3.Connection, generation: Generation, table: str, rows: Iterable[Row]
) -> None:
    """Nothing is made of no rows."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    connection.execute(generation.create(table))
    columns = generation.columns(table)
    names = list(columns)
    sql = f"INSERT INTO {table} VALUES ({','.join('?' * len(names))})"

    def values(row: Row) -> tuple[object, ...]:
        return tuple(row[name] if name in row else columns[name] for name in names)

    connection.execute(sql, values(first))
    connection.executemany(sql, map(values, rows))


def _rows(recording: Recording, strings: Strings) -> Iterator[tuple[str, Iterable[Row]]]:
    generation = recording.generation
    meta = {
        "EXPORT_PRODUCT_NAME": "NVIDIA Nsight Systems",
        "EXPORT_PRODUCT_VERSION": generation.nsys,
        "EXPORT_SCHEMA_VERSION": generation.schema,
    }
    yield generation.meta, ({"name": name, "value": value} for name, value in meta.items())
    host: Row = {
        "globalVid": 1 << 48,
        "devStateName": "Local (CLI)",
        "name": "Hostname",
        "nameEnum": 619,
        "value": recording.host,
    }
    yield "TARGET_INFO_SYSTEM_ENV", [host] if recording.host else ()
    yield (
        "TARGET_INFO_SESSION_START_TIME",
        [{"utcEpochNs": recording.utc_ns}] if recording.utc_ns else [],
    )
    details: Row = {
        "globalVid": 1 << 48,
        "duration": recording.end - recording.begin,
        "startTime": recording.begin,
        "stopTime": recording.end,
    }
    yield "ANALYSIS_DETAILS", [details]
    yield (
        "TARGET_INFO_GPU",
        [
            {"vmId": 0, "id": key, "name": name, "totalMemory": 80 << 30, "cuDevice": key}
            for key, name in recording.gpus.items()
        ],
    )
    yield (
        "CUPTI_ACTIVITY_KIND_KERNEL",
        (_kernel(k, number, strings) for number, k in enumerate(recording.kernels)),
    )
    yield (
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        (_on_gpu(graph.start, graph.end, graph.device) for graph in recording.graphs),
    )
    yield (
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        (
            {**_on_gpu(c.start, c.end, c.device), "bytes": c.bytes, "copyKind": c.kind}
            for c in recording.copies
        ),
    )
    yield (
        "CUPTI_ACTIVITY_KIND_MEMSET",
        ({**_on_gpu(s.start, s.end, s.device), "bytes": s.bytes} for s in recording.sets),
    )
    yield "CUPTI_ACTIVITY_KIND_RUNTIME", (_call(c, 0, strings) for c in recording.cuda)
    yield "OSRT_API", (_call(c, 27, strings) for c in recording.osrt)
    yield "NVTX_EVENTS", _nvtx(recording, strings)
    yield (
        "ThreadNames",
        (
            {"nameId": strings.id(name), "priority": 20, "globalTid": global_tid(PID, tid)}
            for tid, name in recording.threads.items()
        ),
    )
    yield from recording.others.items()


def _on_gpu(start: int, end: int, device: int, pid: int = PID) -> Row:
    return {
        "start": start,
        "end": end,
        "deviceId": device,
        "contextId": 1,
        "streamId": 7,
        "globalPid": (1 << 48) | (pid << 24),
    }


def _call(call: Call, event_class: int, strings: Strings) -> Row:
    return {
        "start": call.start,
        "end": call.end,
        "eventClass": event_class,
        "globalTid": global_tid(PID, call.tid),
        "nameId": strings.id(call.name),
    }


def _kernel(k: Kernel, number: int, strings: Strings) -> Row:
    return {
        **_on_gpu(k.start, k.end, k.device, k.pid),
        "correlationId": number,
        "demangledName": strings.id(k.name),
        "shortName": strings.id(k.name.split("(")[0]),
    }


def _nvtx(recording: Recording, strings: Strings) -> Iterator[Row]:
    for number, name in recording.domains.items():
        yield {
            "start": 0,
            "eventType": DOMAIN_CREATE,
            "text": name,
            "globalTid": global_tid(PID, PID),
            "domainId": number,
        }
    for range_ in recording.ranges:
        yield {
            "start": range_.start,
            "end": range_.end,
            "eventType": range_.kind,
            "rangeId": 1,
            "color": 255,
            "text": None if range_.registered else range_.name,
            "globalTid": global_tid(range_.pid, range_.tid),
            "textId": strings.id(range_.name) if range_.registered else None,
            "domainId": range_.domain,
        }
