"""Queries nodes in parallel for a Ray dashboard on its usual port; runs where the nodes can be reached.

Sent as text to `python3 -I -`, with a mark, a port and the names of the nodes as arguments; it prints one
line: the mark and a JSON list of the answers.  It needs only Python 3.6, the `python3` of many login nodes.
"""

import concurrent.futures
import http.client
import json
import socket
import sys
from typing import Any

CONNECT_S = 2.0
ANSWER_S = 4.0
AT_ONCE = 64
LIMIT = 2**20


def main(arguments: "list[str]") -> None:
    mark, port, nodes = arguments[0], int(arguments[1]), arguments[2:]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda node: query(node, port), nodes))
    sys.stdout.write("\n" + mark + json.dumps(answers) + "\n")


def query(node: str, port: int) -> "dict[str, object]":
    """The answer of `node`: `said` is "ray", "other", "refused", "silent" or "unknown" (no such name)."""
    own = addresses(node)
    answer: dict[str, object] = {"node": node, "said": "silent", "addresses": own}
    if not own:
        answer["said"] = "unknown"
        return answer
    try:
        answer.update(query_dashboard(node, port))
    except ConnectionRefusedError:
        answer["said"] = "refused"
    except (OSError, ValueError, http.client.HTTPException):
        pass
    return answer


def addresses(node: str) -> "list[str]":
    try:
        entries = socket.getaddrinfo(node, None, 0, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return sorted({str(entry[4][0]) for entry in entries})


def query_dashboard(host: str, port: int) -> "dict[str, object]":
    """Describes the server at `host:port`; a dashboard that requires a token still identifies itself."""
    status, value = get(host, port, "/api/version")
    if status == 401:
        status, value = get(host, port, "/api/authentication_mode")
        is_ray = isinstance(value, dict) and "authentication_mode" in value
        return {"said": "ray" if is_ray else "other", "session": "", "ray": "", "ips": []}
    if not isinstance(value, dict) or not isinstance(value.get("ray_version"), str):
        return {"said": "other"}
    return {
        "said": "ray",
        "session": str(value.get("session_name") or ""),
        "ray": value["ray_version"],
        "ips": node_addresses(host, port),
    }


def node_addresses(host: str, port: int) -> "list[str]":
    """The addresses of the nodes of this Ray cluster; [] if the dashboard doesn't return them."""
    try:
        _, value = get(host, port, "/nodes?view=summary")
        rows = value["data"]["summary"]
        alive = [row for row in rows if row["raylet"].get("state", "ALIVE") == "ALIVE"]
        return sorted({str(row["ip"]) for row in alive})
    except (OSError, ValueError, LookupError, TypeError, AttributeError, http.client.HTTPException):
        return []


def get(host: str, port: int, path: str) -> "tuple[int, Any]":
    connection = http.client.HTTPConnection(host, port, timeout=CONNECT_S)
    try:
        connection.connect()
        connection.sock.settimeout(ANSWER_S)
        connection.request("GET", path, headers={"User-Agent": "eagleray"})
        answer = connection.getresponse()
        body = answer.read(LIMIT)
    finally:
        connection.close()
    try:
        return answer.status, json.loads(body.decode("utf-8", "replace"))
    except ValueError:
        return answer.status, None


if __name__ == "__main__":
    main(sys.argv[1:])
