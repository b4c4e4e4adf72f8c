"""Says which workers wait in Ray's own pdb, by what Ray itself keeps of them.

Sent as text to the cluster's Python, as a job: only there is a Ray of the right version.  `EAGLERAY_ASKED`
holds a mark, the id of a session to be followed into the next task ("" for none), and for how long.
It prints one line, the mark and JSON: a list of what waits.
"""

import json
import os
import sys
import time
from typing import Any

NAMESPACE = b"ray_pdb"
PREFIX = b"RAY_PDB_"
HOP = b"RAY_PDB_CONTINUE_"
LOOK_S = 0.2
MOST = 1000
LARGEST = 2**20
FIELDS = {
    "pdb_address": 200,
    "filename": 4096,
    "proctitle": 200,
    "node_id": 80,
    "worker_id": 80,
    "actor_id": 80,
    "job_id": 80,
}
TRACEBACK = 8000


def main() -> None:
    asked = json.loads(os.environ["EAGLERAY_ASKED"])
    from ray import _raylet

    # Ray's own description of this module does not name what is compiled.
    raylet: Any = _raylet
    kept = Kept(raylet.GcsClient(address=os.environ["RAY_ADDRESS"]))
    follow = asked["follow"].encode()
    sessions = kept.followed(follow, asked["seconds"]) if follow else kept.waiting()
    sys.stdout.write("\n" + asked["mark"] + json.dumps(sessions) + "\n")
    sys.stdout.flush()
    # The usual end of a process that has imported Ray takes most of a second.
    os._exit(0)


class Kept:
    """What Ray keeps of its pdb, in the key-value store of the cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def waiting(self) -> "list[dict[str, object]]":
        keys = self._client.internal_kv_keys(PREFIX, NAMESPACE)
        own = [key for key in keys if key.startswith(PREFIX) and not key.startswith(HOP)]
        return [found for key in own[:MOST] for found in [self._session(key)] if found]

    def followed(self, session: bytes, seconds: float) -> "list[dict[str, object]]":
        """The session once it waits in the next task; [] when there was no next one.

        What `remote` and its end leave behind would stop `ray debug`, so it is taken away.
        """
        deadline = time.monotonic() + seconds
        key = PREFIX + session
        while time.monotonic() < deadline:
            value = self._value(key)
            if "pdb_address" in value:
                self._remove(HOP + session)
                return [shortened(session, value)]
            if "exit_debugger" in value:
                self._remove(key)
                break
            time.sleep(LOOK_S)
        self._remove(HOP + session)
        return []

    def _session(self, key: bytes) -> "dict[str, object] | None":
        value = self._value(key)
        return shortened(key[len(PREFIX) :], value) if "pdb_address" in value else None

    def _value(self, key: bytes) -> "dict[str, object]":
        text = self._client.internal_kv_get(key, NAMESPACE)
        try:
            value = json.loads(text) if text and len(text) <= LARGEST else None
        except (ValueError, RecursionError):
            value = None
        return value if isinstance(value, dict) else {}

    def _remove(self, key: bytes) -> None:
        self._client.internal_kv_del(key, False, NAMESPACE)


def shortened(session: bytes, value: "dict[str, object]") -> "dict[str, object]":
    """What is of use, of a bounded size; the end of a traceback says the most."""
    said: dict[str, object] = {
        name: text[:size]
        for name, size in FIELDS.items()
        for text in [value.get(name)]
        if isinstance(text, str)
    }
    traceback = value.get("traceback")
    said["id"] = session.decode("ascii", "replace")[:80]
    said["traceback"] = traceback[-TRACEBACK:] if isinstance(traceback, str) else ""
    for name in ("lineno", "timestamp"):
        number = value.get(name)
        said[name] = number if isinstance(number, (int, float)) else 0
    return said


if __name__ == "__main__":
    main()
