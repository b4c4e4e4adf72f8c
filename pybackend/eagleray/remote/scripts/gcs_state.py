"""Lists what runs and waits in a cluster as its dashboard does, from its GCS alone, which every cluster has.

Run by the Python of a node, since only that has a Ray of the right version.  `EAGLERAY_ASKED` contains a mark, the ids of
jobs, and the sockets of raylets of this machine.  It prints one line: the mark and a JSON object of lists of rows.
"""

import json
import os
import sys
from typing import Any

# As many as a dashboard lists.
MOST = 10_000
ENDED = ("FINISHED", "FAILED")
IDS = [
    *("actor_id", "job_id", "node_id", "worker_id", "placement_group_id", "creator_job_id"),
]


def main() -> None:
    request = json.loads(os.environ["EAGLERAY_ASKED"])
    state = StateRows(os.environ["RAY_ADDRESS"], frozenset(request["jobs"]))
    rows = {
        "nodes": state.nodes(request["sockets"]),
        "actors": state.actors(),
        "workers": state.workers(),
        "tasks": state.tasks(),
        "groups": state.groups(),
    }
    sys.stdout.write("\n" + request["mark"] + json.dumps(rows) + "\n")
    sys.stdout.flush()
    # The usual end of a process that has imported Ray takes most of a second.
    os._exit(0)


class StateRows:
    """Rows about these jobs in the GCS at `address`."""

    def __init__(self, address: str, jobs: "frozenset[str]") -> None:
        from ray import _raylet
        from ray.core.generated import common_pb2, gcs_pb2
        from ray.util.state import common

        # Ray's type stubs don't cover these modules.
        raylet: Any = _raylet
        self._messages: Any = gcs_pb2
        self._rows: Any = common
        self._jobs = jobs
        states: Any = common_pb2
        self._ended = {states.TaskStatus.Value(name) for name in ENDED}
        options = raylet.GcsClientOptions
        self._accessor = raylet.GlobalStateAccessor(
            options.create(address, None, True, False)
            if hasattr(options, "create")
            # Ray before 2.34.
            else options.from_gcs_address(address)
        )
        if not self._accessor.connect():
            raise SystemExit("the GCS doesn't answer")

    def nodes(self, sockets: "list[str]") -> "list[dict[str, object]]":
        return [
            {
                "node_id": node["NodeID"],
                "node_ip": node["NodeManagerAddress"],
                "state": "ALIVE" if node["Alive"] else "DEAD",
                "resources_total": node.get("Resources", {}),
                "is_local": node["RayletSocketName"] in sockets,
            }
            for node in self._accessor.get_node_table()
        ]

    def actors(self) -> "list[dict[str, Any]]":
        listed = self._accessor.get_actor_table(None, None)
        return self._of_jobs(self._messages.ActorTableData, listed, "job_id")

    def groups(self) -> "list[dict[str, Any]]":
        listed = self._accessor.get_placement_group_table()
        messages = self._messages.PlacementGroupTableData
        rows = self._of_jobs(messages, listed, "creator_job_id")
        return [row for row in rows if row["state"] == "PENDING"]

    def workers(self) -> "list[dict[str, Any]]":
        """The drivers of the jobs."""
        table = map(self._messages.WorkerTableData.FromString, self._accessor.get_worker_table())
        rows = [self._row(message) for message in table if message.is_alive]
        return [
            {**row, **row["worker_address"]}
            for row in rows
            if row["worker_type"] == "DRIVER"
            and row["worker_address"]["worker_id"][:8] in self._jobs
        ]

    def tasks(self) -> "list[dict[str, Any]]":
        """The tasks that have not ended; those that have may be many more."""
        listed = map(self._messages.TaskEvents.FromString, self._accessor.get_task_events())
        rows = []
        for message in listed:
            # Ray before 2.34 has a field for each state.
            states = getattr(message.state_updates, "state_ts_ns", ())
            if message.job_id.hex() not in self._jobs or not self._ended.isdisjoint(states):
                continue
            row = self._rows.protobuf_to_task_state_dict(message)
            if row["state"] not in (*ENDED, "NIL") and row["type"] != "DRIVER_TASK":
                rows.append(row)
        return rows[:MOST]

    def _of_jobs(self, messages: Any, listed: "list[bytes]", key: str) -> "list[dict[str, Any]]":
        rows = (self._row(messages.FromString(content)) for content in listed)
        return [row for row in rows if row[key] in self._jobs]

    def _row(self, message: Any) -> "dict[str, Any]":
        row: dict[str, Any] = self._rows.protobuf_message_to_dict(message, IDS)
        return row


if __name__ == "__main__":
    main()
