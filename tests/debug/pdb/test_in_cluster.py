"""The code that lists pdb sessions in the cluster, with a key-value store that is faked."""

from __future__ import annotations

import json
from typing import Any

from eagleray.debug.pdb.pdb import PROGRAM
from eagleray.remote.scripts.pdb_sessions import FIELDS, LARGEST, MOST, TRACEBACK, PdbStore

VALUE = {"pdb_address": "localhost:1", "filename": "f.py", "lineno": 3, "timestamp": 1.5}


class Store:
    """Ray's key-value store; `later` is what comes after the first look at a key."""

    def __init__(self, **values: Any) -> None:
        self.values = {key.encode(): _text(value) for key, value in values.items()}
        self.later: dict[bytes, bytes] = {}

    def internal_kv_keys(self, prefix: bytes, namespace: bytes) -> list[bytes]:
        assert namespace == b"ray_pdb"
        return [key for key in self.values if key.startswith(prefix)]

    def internal_kv_get(self, key: bytes, namespace: bytes) -> bytes | None:
        found = self.values.get(key)
        if key in self.later:
            self.values[key] = self.later.pop(key)
        return found

    def internal_kv_del(self, key: bytes, by_prefix: bool, namespace: bytes) -> None:
        assert not by_prefix
        self.values.pop(key, None)


def _text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def test_only_paused_sessions_are_listed() -> None:
    store = Store(
        RAY_PDB_a=VALUE,
        RAY_PDB_CONTINUE_b={"job_id": "01"},
        RAY_PDB_c={"exit_debugger": True},
        RAY_PDB_d=b"no json",
        RAY_PDB_e=b"[" * 100_000,
        RAY_PDB_f=b'"' + b"x" * LARGEST + b'"',
        RAY_PDB_g=[1],
    )
    (one,) = PdbStore(store).waiting_sessions()
    assert (one["id"], one["filename"], one["lineno"]) == ("a", "f.py", 3)


def test_output_is_limited() -> None:
    huge = dict.fromkeys(FIELDS, "x" * 100000) | {"traceback": "y" * 100_000 + "end"}
    (one,) = PdbStore(Store(RAY_PDB_a=huge)).waiting_sessions()
    assert all(len(str(one[name])) == size for name, size in FIELDS.items())
    assert str(one["traceback"]).endswith("end")
    assert len(str(one["traceback"])) == TRACEBACK
    many = PdbStore(Store(**{f"RAY_PDB_{n}": VALUE for n in range(MOST + 5)})).waiting_sessions()
    assert len(many) == MOST


def test_followed_session_leaves_no_entry() -> None:
    store = Store(RAY_PDB_CONTINUE_a={"job_id": "01"}, RAY_PDB_a={})
    store.later[b"RAY_PDB_a"] = _text(VALUE)
    (one,) = PdbStore(store).follow(b"a", seconds=30)
    assert one["pdb_address"] == "localhost:1"
    assert list(store.values) == [b"RAY_PDB_a"]


def test_ended_session_leaves_no_entry() -> None:
    store = Store(RAY_PDB_CONTINUE_a={"job_id": "01"}, RAY_PDB_a={"exit_debugger": True})
    assert PdbStore(store).follow(b"a", seconds=30) == []
    assert store.values == {}


def test_session_that_reaches_no_task_is_given_up() -> None:
    store = Store(RAY_PDB_CONTINUE_a={"job_id": "01"})
    assert PdbStore(store).follow(b"a", seconds=0) == []
    assert store.values == {}


def test_script_survives_the_expansion_of_variables_by_ray() -> None:
    assert "$" not in PROGRAM.read_text(encoding="utf-8")
