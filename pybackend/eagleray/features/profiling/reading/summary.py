"""The summary of one database: its parts, each read in a thread of its own where that saves time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import frozen

from eagleray.features.profiling.reading import calls, gpu, kernels, ranges, recording
from eagleray.features.profiling.reading.busy import END
from eagleray.features.profiling.reading.database import Database, opened
from eagleray.features.profiling.reading.doubts import Doubt, Seen, doubts
from eagleray.features.profiling.reading.gpu import Gpu, Gpus, is_nccl
from eagleray.features.profiling.reading.kernels import GRAPH
from eagleray.features.profiling.reading.limits import Limits
from eagleray.features.profiling.reading.recording import About
from eagleray.features.profiling.reading.tables import Table, made

# SQLite sums up outside of Python's lock.  What takes rows one by one stays in one thread: two such
# threads would hand that lock to and fro for every row.
THREADS = 3

Say = Callable[[str, int], None]

_NEEDED = {
    gpu.KERNELS: ("start", "end", "deviceId"),
    kernels.COPIES: ("start", "end", "bytes", "copyKind"),
    ranges.EVENTS: ("start", "end", "eventType"),
    calls.OSRT: ("start", "end", "nameId"),
    calls.CUDA: ("start", "end", "nameId"),
}


@frozen
class Summary:
    """All that is shown of a report; tables without rows are left out."""

    about: About
    gpus: tuple[Gpu, ...]
    tables: tuple[Table, ...]
    doubts: tuple[Doubt, ...]


def read(
    path: Path, trace: str, limits: Limits, say: Say = lambda text, percentage: None
) -> Summary:
    """Blocks, with all cores; raises an error of the catalogue, also when `limits` are reached."""
    database = opened(path, limits)
    with ThreadPoolExecutor(THREADS, thread_name_prefix="report") as pool:
        try:
            return _read(database, trace, pool, say)
        except BaseException:
            # The other threads would read on to their end.
            limits.cancel()
            raise


def _read(database: Database, trace: str, pool: ThreadPoolExecutor, say: Say) -> Summary:
    say("Reading the kernels", 10)
    nccl = pool.submit(_nccl, database)
    by_name = pool.submit(kernels.top, database, checked=False)
    naming = pool.submit(ranges.Naming, database)
    osrt = pool.submit(calls.read, database, calls.OSRT, "osrt")
    cuda = pool.submit(calls.read, database, calls.CUDA, "cuda_api")
    copies = pool.submit(kernels.copies, database)
    gpus = gpu.read(database, nccl.result())
    if not gpus.is_clean:
        by_name = pool.submit(kernels.top, database, checked=True)
    say("Reading the NVTX ranges", 50)
    gaps = _gaps(database, naming.result(), gpus)
    nvtx = ranges.read(database, naming.result())
    say("Reading the calls", 80)
    threads = calls.threads(database, osrt.result().threads, cuda.result().threads, nvtx.threads)
    about = recording.read(database, trace)
    tables = [
        kernels.table(by_name.result()),
        nvtx.table,
        gaps,
        copies.result(),
        cuda.result().table,
        osrt.result().table,
        threads,
    ]
    seen = Seen(
        kernels=sum(one.kernels for one in gpus.gpus),
        unread_kernels=gpus.unread,
        ranges=nvtx.count,
        nvtx_events=nvtx.events,
        unfinished=nvtx.unfinished,
        cuda_calls=cuda.result().table.total,
        osrt_calls=osrt.result().table.total,
        copies=copies.result().total,
        missing=tuple(
            table
            for table, columns in _NEEDED.items()
            if table in database.tables and not database.has(table, *columns)
        ),
    )
    kept = tuple(table for table in tables if table.rows)
    return Summary(about, gpus.gpus, kept, tuple(doubts(about, seen)))


def _nccl(database: Database) -> frozenset[int]:
    """The numbers of the names of NCCL's kernels."""
    if not database.has("StringIds", "id", "value"):
        return frozenset()
    sql = "SELECT id, substr(value, 1, 100) FROM StringIds WHERE substr(value, 1, 20) LIKE '%nccl%'"
    return frozenset(
        number
        for number, text in database.rows(sql)
        if isinstance(number, int) and is_nccl(str(text))
    )


def _gaps(database: Database, naming: ranges.Naming, gpus: Gpus) -> Table:
    processes = gpu.processes_after(database, gpus.gaps)
    around = ranges.around(database, naming, gpus.gaps, processes)
    names = database.strings({gap.after for gap in gpus.gaps})
    rows = [
        (
            gap.device,
            gap.begin,
            gap.duration,
            name,
            "" if gap.after == END else names.get(gap.after, GRAPH),
        )
        for gap, name in zip(gpus.gaps, around, strict=True)
    ]
    return made("gaps", rows)
