"""A driver that is told by lines of JSON on stdin what to do; says by lines of JSON what came of it.

{"do": "actor", "name": "p0", "rank": 0}     makes a policy worker and waits until it lives
{"do": "call", "id": 1, "name": "p0", "method": "train", "args": [0]}
"""

import json
import sys
import threading

import ray
from policy import Policy

speaking = threading.Lock()


def say(**words: object) -> None:
    """One line at a time, since calls return in threads of their own."""
    with speaking:
        print(json.dumps(words), flush=True)


def environment(rank: object) -> dict:
    names = {"RAY_DEBUG_POST_MORTEM": "1"}
    return names if rank is None else names | {"RANK": str(rank)}


def make(name: str, rank: object) -> object:
    actor = Policy.options(name=name, runtime_env={"env_vars": environment(rank)}).remote()
    ray.get(actor.ping.remote())
    return actor


def call(number: int, actor: object, method: str, args: list) -> None:
    try:
        say(id=number, value=ray.get(getattr(actor, method).remote(*args)))
    except Exception as error:
        say(id=number, error=type(error).__name__)


def main() -> None:
    working_dir = sys.argv[1] if len(sys.argv) > 1 else ""
    runtime_env = {"working_dir": working_dir} if working_dir else {}
    ray.init(log_to_driver=False, runtime_env=runtime_env)
    say(ready=True)
    actors: dict = {}
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "actor":
            actors[order["name"]] = make(order["name"], order.get("rank"))
            say(made=order["name"])
        else:
            todo = (order["id"], actors[order["name"]], order["method"], order["args"])
            threading.Thread(target=call, args=todo, daemon=True).start()


main()
