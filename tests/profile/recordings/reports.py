"""Reports with descriptions, as the injected code writes them on a node."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

RUN = "abcdef012345"


def content(seed: int, size: int) -> bytes:
    """Bytes of every kind, with many lines."""
    return random.Random(seed).randbytes(size)


def described(report: bytes, /, **more: object) -> bytes:
    """The file beside a whole report."""
    described = {
        "run": RUN,
        "host": "n1",
        "node_id": "n1",
        "pid": 7,
        "class": "Policy",
        "rank": "0",
    }
    described |= {"size": len(report), "sha256": hashlib.sha256(report).hexdigest()}
    described |= {"started_utc": "2026-01-01T00:00:00Z", "options": ["-t", "nvtx"], "gpus": ["0"]}
    return json.dumps(described | more).encode()


def status(state: str, **more: object) -> bytes:
    """The file in which a worker says how it stands."""
    described: dict[str, object] = {"run": RUN, "worker_id": "w1", "pid": 7, "host": "n1"}
    described |= {"name": "Policy", "state": state, "reports": []}
    return json.dumps(described | more).encode()


def put(folder: Path, name: str, report: bytes, **more: object) -> None:
    """A whole report in a folder."""
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / name).write_bytes(report)
    (folder / f"{name}.json").write_bytes(described(report, **more))
