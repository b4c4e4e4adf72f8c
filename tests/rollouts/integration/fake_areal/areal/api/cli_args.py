"""Reads `--config FILE ++key=value…`: the last value of a key wins.

As in areal 1.0.4 with Hydra 1.4, a key that isn't in the file needs `++`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class GRPOConfig: ...


class SGLangConfig:
    @staticmethod
    def build_args(**arguments: Any) -> dict[str, Any]:
        sizes = {name: size for name, size in arguments.items() if name in ("tp_size", "pp_size")}
        return {"engine": "sglang", **sizes}


class vLLMConfig:
    @staticmethod
    def build_args(**arguments: Any) -> dict[str, Any]:
        return {"engine": "vllm", "tp_size": arguments["tp_size"]}


def load_expr_config(arguments: list[str], _kind: type) -> tuple[Any, str]:
    assert arguments[0] == "--config"
    config = json.loads(Path(arguments[1]).read_text())
    for argument in arguments[2:]:
        key, _, value = argument.removeprefix("++").partition("=")
        *folders, name = key.split(".")
        place = config
        for folder in folders:
            place = place.setdefault(folder, {})
        if name not in place and not argument.startswith("++"):
            sys.exit(f"Could not override '{key}'.")
        place[name] = value
    return _namespace(config), arguments[1]


def _namespace(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{key: _namespace(each) for key, each in value.items()})
    return value
