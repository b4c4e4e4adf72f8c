"""Eagleray recognises the command of a server, and adds arguments to it."""

from __future__ import annotations

import shlex

import pytest
from eagleray.rollouts.servers.engines import ENGINES, completed, of_script, option
from hypothesis import given
from hypothesis import strategies as st

LOOPBACK = "--host 127.0.0.1"


def everything_free(port: int) -> bool:
    return True


def words(command: str, **environ: str) -> tuple[str, str, int, str, str]:
    made = completed(shlex.split(command), environ, everything_free)
    added = made.argv[len(shlex.split(command)) :]
    return made.engine, shlex.join(added), made.port, made.key_variable, made.key_option


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "vllm serve m",
            ("vllm", f"{LOOPBACK} --port 8000", 8000, "VLLM_API_KEY", ""),
        ),
        (
            "uv run --with vllm /opt/bin/vllm serve m --port 9",
            ("vllm", LOOPBACK, 9, "VLLM_API_KEY", ""),
        ),
        (
            "python -m vllm.entrypoints.openai.api_server --model m --host 0.0.0.0 --port=7",
            ("vllm", "", 7, "VLLM_API_KEY", ""),
        ),
        ("vllm serve m --api-key k --port 1", ("vllm", LOOPBACK, 1, "", "")),
        (
            "python3 -m sglang.launch_server --model-path m",
            ("sglang", f"{LOOPBACK} --port 30000", 30000, "", "--config"),
        ),
        (
            "python -m sglang.launch_server --config c.yaml --port 3",
            ("sglang", LOOPBACK, 3, "", ""),
        ),
        (
            "python3 -m areal.experimental.inference_service.sglang.launch_server --model-path m",
            ("sglang", f"{LOOPBACK} --port 30000", 30000, "", "--config"),
        ),
        (
            "python3 -m areal.engine.vllm_ext.areal_vllm_server --model m --port 12000",
            ("vllm", LOOPBACK, 12000, "VLLM_API_KEY", ""),
        ),
        (
            # Its servers have addresses of their own, and take no such options.
            "python -m areal.infra.launcher.local x.py --config c.yaml allocation_mode=sglang:d1",
            ("", "", 0, "", ""),
        ),
        (
            "llama-server -m m.gguf",
            ("llama.cpp", f"{LOOPBACK} --port 8080", 8080, "LLAMA_API_KEY", ""),
        ),
        ("transformers serve m", ("transformers", f"{LOOPBACK} --port 8000", 8000, "", "")),
        ("python my_server.py --port 5000", ("", "", 5000, "", "")),
        ("python my_server.py --port nine", ("", "", 0, "", "")),
        ("vllm bench serve", ("", "", 0, "", "")),
        ("bash -c 'vllm serve m'", ("", "", 0, "", "")),
    ],
)
def test_command_gets_what_it_lacks(command: str, expected: tuple[str, str, int, str, str]) -> None:
    assert words(command) == expected


def test_key_of_the_environment_is_used() -> None:
    made = completed(["vllm", "serve", "m"], {"VLLM_API_KEY": "mine"}, everything_free)
    assert (made.key, made.key_variable) == ("mine", "")


def test_taken_port_of_an_engine_is_passed_over() -> None:
    made = completed(["vllm", "serve", "m"], {}, lambda port: port > 8002)
    assert (made.port, made.argv[-1]) == (8003, "8003")


def test_variable_of_the_user_gets_the_key() -> None:
    made = completed(["python", "own.py"], {}, everything_free, key_variable="OWN_KEY")
    assert (made.key_variable, made.key) == ("OWN_KEY", "")


@pytest.mark.parametrize(
    ("command", "model"),
    [
        ("vllm serve Qwen/Qwen3-0.6B --port 1", "Qwen/Qwen3-0.6B"),
        ("vllm serve --model Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B"),
        ("python -m sglang.launch_server --model-path /models/q", "/models/q"),
        ("python -m areal.engine.vllm_ext.areal_vllm_server --model /models/q", "/models/q"),
        (
            "python -m areal.experimental.inference_service.sglang.launch_server --model-path=/m/q",
            "/m/q",
        ),
        ("llama-server -m q.gguf", "q.gguf"),
        ("llama-server", ""),
    ],
)
def test_model_is_read_from_the_command(command: str, model: str) -> None:
    assert completed(shlex.split(command), {}, everything_free).model == model


@given(
    st.lists(st.sampled_from(["vllm", "serve", "-m", "--port", "8000", "--port=1", "--host", "x"]))
)
def test_command_of_the_user_stays_as_it_is(argv: list[str]) -> None:
    made = completed(argv, {}, everything_free)
    assert list(made.argv[: len(argv)]) == argv
    # A second pass adds nothing: a restart keeps address and port.
    assert (
        completed(made.argv, {}, everything_free).argv == made.argv
        or not option(made.argv, "--port").isdecimal()
    )


def test_every_engine_has_one_place_for_its_key() -> None:
    for engine in ENGINES:
        assert not (engine.key_variable and engine.key_option), engine.name


def test_script_of_a_job_is_recognised_and_not_changed() -> None:
    text = """#!/bin/bash
#SBATCH --nodes=1
module load cuda  # it's needed
srun vllm serve Qwen/Q \\
  --port 9001 --host 0.0.0.0
"""
    made = of_script(["sbatch", "serve.sub"], text, {}, "")
    assert made.argv == ("sbatch", "serve.sub")
    assert (made.engine, made.port, made.key_variable, made.model) == (
        "vllm",
        9001,
        "VLLM_API_KEY",
        "Qwen/Q",
    )


def test_script_without_an_engine_has_no_key() -> None:
    made = of_script(["sbatch", "x.sub"], "python own.py\n", {}, "")
    assert (made.engine, made.port, made.key_variable) == ("", 0, "")
