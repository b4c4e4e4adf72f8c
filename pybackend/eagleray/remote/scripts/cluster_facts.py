"""Has every node of a Ray cluster print its facts: the driver of a job, with one task a node.

Sent as text to the cluster's Python, as a job.  `EAGLERAY_ASKED` contains a mark, the text of node_facts.py, how many
seconds the nodes have, and `options` of the tasks.  The tasks need no CPU, so they run where all are taken; their
environment is a worker's.  It prints one line: the mark and a JSON object of facts and silent nodes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


def main() -> None:
    request = json.loads(os.environ.pop("EAGLERAY_ASKED"))
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.init(log_to_driver=False)

    @ray.remote(num_cpus=0, max_retries=0)
    def facts_of_node(text: str) -> Any:
        names: dict[str, Any] = {"__name__": "node_facts"}
        exec(text, names)  # noqa: S102 (our own node_facts.py)
        return names["facts"]()

    hosts = {}
    nodes: Any = ray.nodes
    for node in nodes():
        if node["Alive"]:
            strategy = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            options = {"scheduling_strategy": strategy, **request["options"]}
            call = facts_of_node.options(**options).remote(request["text"])
            hosts[call] = node["NodeManagerAddress"]
    answer = collected(ray, hosts, request["seconds"])
    sys.stdout.write("\n" + request["mark"] + json.dumps(answer) + "\n")
    sys.stdout.flush()
    # The usual end of a process that has imported Ray takes 0.7 s (measured with 2.60).
    os._exit(0)


def collected(ray: Any, hosts: dict[Any, str], seconds: float) -> dict[str, Any]:
    """Facts of the nodes that answer within `seconds`; `clock_offset` is how far a node's clock is ahead of the driver's."""
    until = time.monotonic() + seconds
    pending = list(hosts)
    facts = []
    silent = []
    while pending:
        ready, pending = ray.wait(pending, timeout=max(0.0, until - time.monotonic()))
        if not ready:
            break
        received = time.time()
        for call in ready:
            try:
                value = ray.get(call)
            except Exception as error:
                silent.append({"node": hosts[call], "reason": type(error).__name__})
            else:
                clock_offset = value["time"] - received
                facts.append({**value, "node": hosts[call], "clock_offset": clock_offset})
    silent += [{"node": hosts[call], "reason": ""} for call in pending]
    return {"facts": facts, "silent": silent}


if __name__ == "__main__":
    main()
