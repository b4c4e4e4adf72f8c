"""Runs a training program up to where its configuration is complete, prints the values of some keys, and ends.

Sent as text to the program's own Python (3.9 or newer), whose packages it has; it imports nothing of ours.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any, NoReturn


def value_at(config: Any, key: str) -> Any:
    """The value of a key, whose names are joined by dots, or of a flag of an argument parser."""
    if key.startswith("-"):
        return getattr(config, key.lstrip("-").replace("-", "_"))
    for name in key.split("."):
        config = config[int(name)] if name.isdecimal() else config[name]
    return config


def values_of(config: Any, keys: list[str]) -> dict[str, str]:
    """The values of the keys that exist."""
    values = {}
    for key in keys:
        try:
            value = value_at(config, key)
        except (AttributeError, IndexError, KeyError, TypeError):
            continue
        values[key] = "null" if value is None else str(value)
    return values


def main() -> NoReturn:
    """Runs the program that the first argument, as JSON, describes; the other arguments are the program's."""
    request = json.loads(sys.argv[1])
    module, _, path = request["complete"].partition(":")
    owner = importlib.import_module(module)
    *above, name = path.split(".")
    for attribute in above:
        owner = getattr(owner, attribute)
    original = getattr(owner, name)

    def completed(*args: Any, **kwargs: Any) -> NoReturn:
        values = values_of(original(*args, **kwargs), request["keys"])
        sys.stdout.flush()
        os.write(1, f"\n{request['mark']}{json.dumps(values)}\n".encode())
        # Libraries that were imported start nothing at an end like this.
        os._exit(0)

    setattr(owner, name, completed)
    target = request["target"]
    sys.argv = [target, *sys.argv[2:]]
    if request["module"]:
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(target).resolve().parent))
        runpy.run_path(target, run_name="__main__")
    sys.exit(request["incomplete"])


if __name__ == "__main__":
    main()
