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
ENDED = ("FINISHED", "FAILED", "NIL")
IDS = ("actor_id", "job_id", "node_id", "worker_id", "placement_group_id", "creator_job_id")


def main() -> None:
    from ray import _raylet
    from ray.core.generated import common_pb2, gcs_pb2
    from ray.util.state import common

    # Ray's type stubs don't cover these modules.
    raylet: Any = _raylet
    messages: Any = gcs_pb2
    states: Any = common_pb2
    request = json.loads(os.environ["EAGLERAY_ASKED"])
    options, address = raylet.GcsClientOptions, os.environ["RAY_ADDRESS"]
    # `create` came with Ray 2.34.
    new = hasattr(options, "create")
    accessor = raylet.GlobalStateAccessor(
        options.create(address, None, True, False) if new else options.from_gcs_address(address)
    )
    if not accessor.connect():
        raise SystemExit("the GCS doesn't answer")

    def rows(kind: Any, listed: "list[bytes]") -> "list[dict[str, Any]]":
        return [
            common.protobuf_message_to_dict(kind.FromString(each), list(IDS)) for each in listed
        ]

    ended = {states.TaskStatus.Value(name) for name in ENDED}
    tasks = []
    for message in map(messages.TaskEvents.FromString, accessor.get_task_events()):
        # Most have ended; Ray before 2.34 has a field for each state.
        times = getattr(message.state_updates, "state_ts_ns", ())
        if message.job_id.hex() in request["jobs"] and ended.isdisjoint(times):
            tasks.append(common.protobuf_to_task_state_dict(message))
    free = {
        each.node_id.hex(): dict(each.resources_available)
        for each in map(
            messages.AvailableResources.FromString, accessor.get_all_available_resources()
        )
    }
    nodes = [
        {
            "node_id": node["NodeID"],
            "node_ip": node["NodeManagerAddress"],
            "state": "ALIVE" if node["Alive"] else "DEAD",
            "resources_total": node.get("Resources", {}),
            "resources_available": free.get(node["NodeID"], {}),
            "is_local": node["RayletSocketName"] in request["sockets"],
        }
        for node in accessor.get_node_table()
    ]
    workers = rows(messages.WorkerTableData, accessor.get_worker_table())
    groups = rows(messages.PlacementGroupTableData, accessor.get_placement_group_table())
    actors = rows(messages.ActorTableData, accessor.get_actor_table(None, None))
    lists = {
        "nodes": nodes,
        "actors": [row for row in actors if row["job_id"] in request["jobs"]],
        # They may hold what these jobs need.
        "others": [
            row
            for row in actors
            if row["state"] == "ALIVE" and row["job_id"] not in request["jobs"]
        ][:MOST],
        "workers": [{**row, **row["worker_address"]} for row in workers if row["is_alive"]],
        "tasks": [
            row for row in tasks if row["state"] not in ENDED and row["type"] != "DRIVER_TASK"
        ][:MOST],
        "groups": [row for row in groups if row["state"] in ("PENDING", "CREATED")],
    }
    sys.stdout.write("\n" + request["mark"] + json.dumps(lists) + "\n")
    sys.stdout.flush()
    # The usual end of a process that has imported Ray takes most of a second.
    os._exit(0)


if __name__ == "__main__":
    main()
