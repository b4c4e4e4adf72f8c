"""Records the answers of a real Ray dashboard for the fake one: `record.py ADDRESS TOKEN FILE`.

The cluster should have paused workers, actors and a job; the answers are kept as they came.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

PAUSED = (
    "/api/v0/workers?detail=1&limit=10000&filter_keys=num_paused_threads&filter_predicates=!%3D"
    "&filter_values=0&filter_keys=is_alive&filter_predicates=%3D&filter_values=True"
)
LISTS = {
    "version": "/api/version",
    "authentication_mode": "/api/authentication_mode",
    "paused": PAUSED,
    "workers": "/api/v0/workers?detail=1&limit=10000&filter_keys=is_alive"
    "&filter_predicates=%3D&filter_values=True",
    "tasks": "/api/v0/tasks?detail=1&limit=10000&filter_keys=state"
    "&filter_predicates=%3D&filter_values=RUNNING",
    "actors": "/api/v0/actors?detail=1&limit=10000&filter_keys=state"
    "&filter_predicates=!%3D&filter_values=DEAD",
    "nodes": "/api/v0/nodes?detail=1&limit=10000",
    "jobs": "/api/jobs/",
    "profiling_enabled": "/api/profiling_enabled",
}


def get(address: str, path: str, token: str) -> dict[str, object]:
    """One answer, whatever its status."""
    request = urllib.request.Request(address + path)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            status, headers, body = answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        status, headers, body = error.code, error.headers, error.read()
    return {"path": path, "status": status, "type": headers["Content-Type"], "body": body.decode()}


def main(address: str, token: str, file: str) -> None:
    answers = {name: get(address, path, token) for name, path in LISTS.items()}
    answers["no-token"] = get(address, PAUSED, "")
    answers["bad-token"] = get(address, PAUSED, "not-the-token")
    rows = json.loads(str(answers["paused"]["body"]))["data"]["result"]["result"]
    node, worker = rows[0]["node_id"], rows[0]["worker_id"]
    listing = f"/api/v0/logs?node_id={node}&glob=worker-{worker}-%2A"
    answers["log_files"] = get(address, listing, token)
    names = json.loads(str(answers["log_files"]["body"]))["data"]["result"]
    out = next(name for group in names.values() for name in group if name.endswith(".err"))
    log = f"/api/v0/logs/file?node_id={node}&filename="
    answers["log_file"] = get(address, f"{log}{out}&lines=100", token)
    answers["no_log_file"] = get(address, f"{log}no-such-file.out&lines=100", token)
    stack = f"/worker/traceback?pid={rows[0]['pid']}&ip={rows[0]['ip']}"
    answers["traceback"] = get(address, stack, token)
    Path(file).write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:4])
