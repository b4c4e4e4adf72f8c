"""The engines that Eagleray recognises in a command, and what it adds to one: loopback, a port and a key.

Sources: vLLM 0.32 (`vllm serve --help`: host is every address by default; VLLM_API_KEY), SGLang 0.5 (server_args.py:
host 127.0.0.1, `--config FILE.yaml` since 0.5.3), llama.cpp b6800 (tools/server/README.md: LLAMA_API_KEY), transformers
5.23 (`transformers serve --help`: localhost:8000, no key, models are loaded by the first request that names them).
AReaL's own servers are SGLang's and vLLM's with further paths, and take their arguments (areal/api/cli_args.py,
4aef98d8, 2026-05: what its schedulers start).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath

from attrs import frozen

LOOPBACK = "127.0.0.1"
HOST = "--host"
PORT = "--port"
KEY = "--api-key"


@frozen
class Engine:
    """One kind of server.

    `commands` are the first words of its command, `modules` what `python -m` starts.  Its key is passed in `key_variable`,
    else in a YAML file after `key_option`; both are "" for one that has no keys.  `models` are the options that name the
    model, `""` for the first argument after the command.
    """

    name: str
    port: int
    commands: tuple[tuple[str, ...], ...] = ()
    modules: tuple[str, ...] = ()
    key_variable: str = ""
    key_option: str = ""
    models: tuple[str, ...] = ()
    loads_on_demand: bool = False


ENGINES = (
    Engine(
        "vllm",
        8000,
        (("vllm", "serve"),),
        ("vllm.entrypoints.openai.api_server", "areal.engine.vllm_ext.areal_vllm_server"),
        key_variable="VLLM_API_KEY",
        models=("--model", ""),
    ),
    Engine(
        "sglang",
        30000,
        (("sglang", "serve"),),
        (
            "sglang.launch_server",
            "areal.experimental.inference_service.sglang.launch_server",
        ),
        key_option="--config",
        models=("--model-path", "--model"),
    ),
    Engine(
        "llama.cpp",
        8080,
        (("llama-server",),),
        key_variable="LLAMA_API_KEY",
        models=("--model", "-m", "-hf", "--hf-repo"),
    ),
    Engine(
        "transformers",
        8000,
        (("transformers", "serve"),),
        models=("--force-model", ""),
        loads_on_demand=True,
    ),
)
BY_NAME = {engine.name: engine for engine in ENGINES}


@frozen
class EngineMatch:
    """An engine, and the index after the words that name it."""

    engine: Engine
    end: int


@frozen
class ServerCommand:
    """A command with what it lacked; `key` is its own, "" for none, and then `key_variable` or `key_option` takes a new one."""

    argv: tuple[str, ...]
    engine: str = ""
    port: int = 0
    key: str = ""
    key_variable: str = ""
    key_option: str = ""
    model: str = ""


def match_engine(argv: Sequence[str]) -> EngineMatch | None:
    """The engine that a command starts, also behind `uv run`, `srun` and the like; None for another program."""
    for at, word in enumerate(argv):
        for engine in ENGINES:
            if word == "-m" and argv[at + 1 : at + 2] and argv[at + 1] in engine.modules:
                return EngineMatch(engine, at + 2)
            for command in engine.commands:
                named = (PurePath(word).name, *argv[at + 1 : at + len(command)])
                if named == command:
                    return EngineMatch(engine, at + len(command))
    return None


def completed(
    argv: Sequence[str],
    environ: Mapping[str, str],
    is_free: Callable[[int], bool],
    *,
    host: str = LOOPBACK,
    key_variable: str = "",
) -> ServerCommand:
    """The command with host, port and place of its key, where it is an engine's and doesn't name them.

    `environ` is what the program will have.  `key_variable`: the user says that the program reads its key there.
    """
    match = match_engine(argv)
    engine = match.engine if match else None
    variable = key_variable or (engine.key_variable if engine else "")
    key = option(argv, KEY) or environ.get(variable, "")
    port = _port(option(argv, PORT))
    if engine is None or match is None:
        return ServerCommand(tuple(argv), "", port, key, "" if key else variable)
    added: list[str] = []
    if not option(argv, HOST):
        added += [HOST, host]
    if not port:
        port = next((p for p in range(engine.port, engine.port + 100) if is_free(p)), 0)
        added += [PORT, str(port)] if port else []
    has_own_place = bool(key) or engine.key_option in argv
    return ServerCommand(
        (*argv, *added),
        engine.name,
        port,
        key,
        "" if key else variable,
        "" if has_own_place or variable else engine.key_option,
        _model(argv, match),
    )


def of_script(
    argv: Sequence[str], text: str, environ: Mapping[str, str], key_variable: str
) -> ServerCommand:
    """The command `argv` that submits a script: what the script starts is recognised, and nothing is added to it."""
    try:
        tokens = shlex.split(text, comments=True)
    except ValueError:
        tokens = text.split()
    match = match_engine(tokens)
    variable = key_variable or (match.engine.key_variable if match else "")
    key = option(tokens, KEY) or environ.get(variable, "")
    return ServerCommand(
        tuple(argv),
        match.engine.name if match else "",
        _port(option(tokens, PORT)) or (match.engine.port if match else 0),
        key,
        "" if key else variable,
        "",
        _model(tokens, match) if match else "",
    )


def option(argv: Sequence[str], name: str) -> str:
    """The value of `--name VALUE` or `--name=VALUE`, "" without one."""
    for at, word in enumerate(argv):
        if word == name and at + 1 < len(argv):
            return argv[at + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return ""


def _model(argv: Sequence[str], match: EngineMatch) -> str:
    for name in match.engine.models:
        first = next(iter(argv[match.end :]), "")
        value = option(argv, name) if name else ("" if first.startswith("-") else first)
        if value:
            return value
    return ""


def _port(text: str) -> int:
    return int(text) if text.isdecimal() and int(text) < 2**16 else 0
