"""Why a server ended: the sentences, from lines of real engines."""

from __future__ import annotations

import pytest
from eagleray.rollouts.servers.failures import reason_of
from eagleray.runs.model import ServerPlan

PLAN = ServerPlan("s", "vllm", 8000, model="Qwen/Q")
MISSING = "Qwen/Q wasn't found, or isn't a model."
FULL_GPU = "The GPU has too little free memory for Qwen/Q."


def nobody(port: int) -> str:
    return ""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use",
            "Port 8000 is already taken.",
        ),
        (
            "start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8000",
            "Port 8000 is already taken.",
        ),
        (
            "OSError: /x is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
            MISSING,
        ),
        (
            "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name'",
            MISSING,
        ),
        (
            "gguf_init_from_file: failed to open GGUF file '/nope.gguf' (No such file or directory)",
            MISSING,
        ),
        ("llama_model_load: error loading model: tensor 'x' has wrong shape", MISSING),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            FULL_GPU,
        ),
        (
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
            FULL_GPU,
        ),
        (
            "ValueError: Free memory on device (3.1/79.1 GiB) on startup is less than desired GPU memory utilization",
            FULL_GPU,
        ),
        (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
            FULL_GPU,
        ),
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory",
            "This machine has too little free memory for Qwen/Q.",
        ),
        (
            "0.2 E ggml_aligned_malloc: insufficient memory (attempted to allocate 2048.00 MB)",
            "This machine has too little free memory for Qwen/Q.",
        ),
        (
            "llama_model_load: error loading model: unable to allocate CUDA0 buffer",
            FULL_GPU,
        ),
        (
            "huggingface_hub.errors.GatedRepoError: 401 Client Error.",
            "Hugging Face refuses access to Qwen/Q.",
        ),
        (
            "vllm: error: unrecognized arguments: --no-such",
            "The server doesn't accept its arguments: vllm: error: unrecognized arguments: --no-such",
        ),
        (
            "launch_server.py: error: unrecognized arguments: --config /x/server.yaml",
            "This SGLang takes no `--config`. Add `--api-key` to the command.",
        ),
        ("all is well", "The server exited with code 1."),
    ],
)
def test_line_of_an_engine_gives_the_reason(line: str, reason: str) -> None:
    text = f"INFO starting\n{line}\nRuntimeError: Engine core initialization failed.\n"
    assert reason_of(text, 1, PLAN, nobody) == reason


def test_port_names_its_owner() -> None:
    said = reason_of("address already in use", 1, PLAN, lambda port: f"user eve of {port}")
    assert said == "Port 8000 is already taken by user eve of 8000."


def test_killed_server_may_have_lacked_memory() -> None:
    assert "killed" in reason_of("INFO serving\n", 137, PLAN, nobody)


def test_control_characters_of_a_line_are_removed() -> None:
    reason = reason_of("x: unrecognized arguments: \x1b]0;evil\x07--y", 2, PLAN, nobody)
    assert reason.isprintable()
