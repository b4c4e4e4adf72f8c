"""Lists the workers that are paused in Ray's own pdb, by the entries in Ray's key-value store.

Sent as text to the cluster's Python, as a job, since only that has a Ray of the right version.  `EAGLERAY_ASKED`
contains a mark, the id of a session to follow into the next task ("" for none), and for how many seconds.
It prints one line: the mark and a JSON list of sessions.
"""

import json
import os
import sys
import time
from typing import Any

NAMESPACE = b"ray_pdb"
PREFIX = b"RAY_PDB_"
HOP = b"RAY_PDB_CONTINUE_"
POLL_INTERVAL_S = 0.2
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
    request = json.loads(os.environ["EAGLERAY_ASKED"])
    from ray import _raylet

    # Ray's type stubs don't cover this compiled module.
    raylet: Any = _raylet
    store = PdbStore(raylet.GcsClient(address=os.environ["RAY_ADDRESS"]))
    follow = request["follow"].encode()
    sessions = store.follow(follow, request["seconds"]) if follow else store.waiting_sessions()
    sys.stdout.write("\n" + request["mark"] + json.dumps(sessions) + "\n")
    sys.stdout.flush()
    # The usual end of a process that has imported Ray takes 0.7 s (measured with 2.60).
    os._exit(0)


class PdbStore:
    """Ray's entries about pdb sessions in the key-value store of the cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def waiting_sessions(self) -> "list[dict[str, object]]":
        keys = self._client.internal_kv_keys(PREFIX, NAMESPACE)
        own = [key for key in keys if key.startswith(PREFIX) and not key.startswith(HOP)]
        return [session for key in own[:MOST] for session in [self._session(key)] if session]

    def follow(self, session: bytes, seconds: float) -> "list[dict[str, object]]":
        """Waits until the session is paused in the next task; [] without a next task.

        Entries that `remote` and its end leave behind would stop `ray debug`, which takes them for sessions
        (RAY_PDB_CONTINUE in 2.60, `util/rpdb.py`), so they are removed.
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
            time.sleep(POLL_INTERVAL_S)
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
    """The fields that are used, with a limited size; of a traceback the end."""
    fields: dict[str, object] = {
        name: text[:size]
        for name, size in FIELDS.items()
        for text in [value.get(name)]
        if isinstance(text, str)
    }
    traceback = value.get("traceback")
    fields["id"] = session.decode("ascii", "replace")[:80]
    fields["traceback"] = traceback[-TRACEBACK:] if isinstance(traceback, str) else ""
    for name in ("lineno", "timestamp"):
        number = value.get(name)
        fields[name] = number if isinstance(number, (int, float)) else 0
    return fields


if __name__ == "__main__":
    main()
