"""Why an inference server ended, in one sentence, from its last lines; a table of rules.

The texts of engines come from vLLM 0.32, SGLang 0.5, llama.cpp b6800, transformers 5.23 and torch 2.13.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import later, t, translated
from eagleray.rollouts.servers.errors import port_taken
from eagleray.runs.model import ServerPlan

# Engines print some hundred lines after the reason, such as the traceback of each process.
_BYTES = 2**18
_KILLED = 137


@frozen
class FailureRule:
    """A pattern of one line, and the sentence; `{model}`, `{line}` are filled in."""

    pattern: re.Pattern[str]
    sentence: str


def _rule(pattern: str, sentence: str) -> FailureRule:
    return FailureRule(re.compile(pattern, re.IGNORECASE), sentence)


_PORT = re.compile(
    r"address already in use|EADDRINUSE|Errno 98\b|couldn't bind|port \d+ is (?:already )?(?:in use|not available)",
    re.IGNORECASE,
)
_PORT_NUMBER = re.compile(r"\bport[:= ]+(\d{2,5})\b|:(\d{2,5})\b|, (\d{2,5})\)", re.IGNORECASE)
RULES = (
    _rule(
        r"GatedRepoError|gated repo|401 Client Error.{0,200}huggingface",
        later("Hugging Face refuses access to {model}."),
    ),
    # llama.cpp says after it that the model can't be loaded.
    _rule(
        r"CUDA out of memory|CUDA error: out of memory|torch\.(?:cuda\.)?OutOfMemoryError|HIP out of memory"
        r"|cudaMalloc failed: out of memory|No available memory for the cache blocks"
        r"|less than desired GPU memory utilization|Not enough memory.{0,80}mem[-_]fraction"
        r"|cuMemCreate.{0,80}OUT_OF_MEMORY|(?:failed|unable) to allocate (?:CUDA|ROCm|HIP|Vulkan|SYCL|Metal)",
        later("The GPU has too little free memory for {model}."),
    ),
    _rule(
        r"MemoryError|Cannot allocate memory|std::bad_alloc|DefaultCPUAllocator: (?:not enough|can't allocate)"
        r"|insufficient memory \(attempted to allocate|failed to allocate (?:CPU )?buffer",
        later("This machine has too little free memory for {model}."),
    ),
    _rule(
        r"is not a local folder and is not a valid model|Repo id must|Repository Not Found"
        r"|RepositoryNotFoundError|HFValidationError|Invalid repository ID or local directory"
        r"|does not appear to have a file named|Can't load the configuration of"
        r"|failed to (?:load|open) (?:the )?(?:model|GGUF)|error loading model"
        r"|No such file or directory.{0,200}(?:gguf|safetensors|config\.json|model)"
        r"|model.{0,120}(?:does not exist|not found)",
        later("{model} wasn't found, or isn't a model."),
    ),
    _rule(
        r"unrecognized arguments: --config\b",
        later("This SGLang takes no `--config`. Add `--api-key` to the command."),
    ),
    _rule(
        r"unrecognized arguments?:|error: (?:invalid|unknown) argument|No such option",
        later("The server doesn't accept its arguments: {line}"),
    ),
    _rule(
        r"command not found|exec: \S+: not found|execve\(\): \S+: No such file",
        later("The program of the server wasn't found: {line}"),
    ),
    _rule(r"No module named (?:'|\")?[\w.]+", later("The server lacks a module: {line}")),
)
_DEAD_ENGINE = re.compile(r"\bEngineDeadError\b")
_OUT_OF_MEMORY = later("The server was killed, perhaps because this machine ran out of memory.")


def reason_of(text: str, code: int | None, plan: ServerPlan, owner_of: Callable[[int], str]) -> str:
    """1. Its port was taken; `owner_of` returns by whom.

    2. The first line that a rule fits: what follows it is usually a consequence.
    3. A kill that it didn't print anything about.
    4. Its exit code.
    """
    lines = text.splitlines()
    for line in lines:
        if _PORT.search(line):
            port = plan.port or _number_in(line)
            return (
                port_taken(port, owner_of(port))
                if port
                else t("The port of the server is already taken.")
            )
    model = printable(plan.model, 120) or t("The model")
    for rule in RULES:
        first = next((line for line in lines if rule.pattern.search(line)), None)
        if first is not None:
            return translated(rule.sentence, model=model, line=printable(first.strip(), 160))
    if code == _KILLED:
        return translated(_OUT_OF_MEMORY)
    if code is None:
        return t("The server ended.")
    return t("The server exited with code {code}.", code=code)


def engine_death(text: str) -> str:
    """Why a server ended that exited with 0, as vLLM does after the end of its engine (0.32); "" for any other end."""
    return t("The engine of the server ended unexpectedly.") if _DEAD_ENGINE.search(text) else ""


def last_text(output: Path) -> str:
    """The end of what a run printed."""
    try:
        with output.open("rb", buffering=0) as file:  # own file
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _BYTES))
            return file.read(_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _number_in(line: str) -> int:
    match = _PORT_NUMBER.search(line)
    return int(next(group for group in match.groups() if group)) if match else 0
