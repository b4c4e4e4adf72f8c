"""Errors of comparisons of engines."""

from __future__ import annotations

from pathlib import Path

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import t


# fmt: off
@error("engine-unreachable", "Can't reach the server {name}.", "Check its address, and that it is running.")
def engine_unreachable(name: str, output: str) -> EaglerayError: ...
@error("engine-slow", "{name} took longer than {n} s for a response.",
       "Check its log, or compare fewer prompts with `--limit`.")
def engine_slow(name: str, n: float) -> EaglerayError: ...
@error("engine-refused-key", "{name} rejects the API key.", "Set OPENAI_API_KEY to the key of this server.")
def engine_refused_key(name: str) -> EaglerayError: ...
@error("engine-redirects", "{name} redirects to another address.", "Use the address that it redirects to.")
def engine_redirects(name: str) -> EaglerayError: ...
@error("engine-failed", "{name} responded with error {status}.", "Check its log.")
def engine_failed(name: str, status: int, output: str) -> EaglerayError: ...
@error("engine-unreadable", "{name} sent a response that Eagleray can't read.",
       "Check that this is an inference server.")
def engine_unreadable(name: str, detail: str) -> EaglerayError: ...
@error("unsupported-engine", "{name} gives no token ids and logprobs.", "Use vLLM, SGLang or llama.cpp.")
def unsupported_engine(name: str) -> EaglerayError: ...
@error("no-prompt-ids", "{name} doesn't return token ids of prompts.",
       "Update the server: SGLang 0.5.13 or vLLM 0.10.2.")
def no_prompt_ids(name: str) -> EaglerayError: ...
@error("unscored-tokens", "{name} returned logprobs of other tokens.",
       "Check that no grammar or processor of the server is active.")
def unscored_tokens(name: str) -> EaglerayError: ...
@error("reference-failed", "The model can't be computed in torch: {why}.",
       "Check the folder, and the interpreter (`--python`).")
def reference_failed(why: str, output: str = "") -> EaglerayError: ...
@error("unreadable-dump", "Can't compare with {path}: {why}.", "It needs rows of JSON with token ids and logprobs.")
def unreadable_dump(path: Path, why: str) -> EaglerayError: ...
@error("wave-without-prompts", "The runs of {path} lack the token ids of their prompts.",
       "Start or add the server of the wave, which has them.")
def wave_without_prompts(path: Path) -> EaglerayError: ...
@error("dumps-differ", "The dumps have no sequence in common.", "Compare dumps of the same rollouts.")
def dumps_differ() -> EaglerayError: ...
@error("unreadable-prompts", "Can't read prompts of {path}: {why}.", "Each line needs `prompt` or `messages`.")
def unreadable_prompts(path: Path, why: str) -> EaglerayError: ...
@error("prompts-needed", "Nothing to compare: no prompts.", "Specify a file with `--data FILE`.")
def prompts_needed() -> EaglerayError: ...
@error("comparison-unsaved", "Can't write {path}: {why}.", "Save it in another folder.")
def comparison_unsaved(path: Path, why: str) -> EaglerayError: ...
@error("comparison-not-stored", "This comparison is no longer stored.", "Compare again.")
def comparison_not_stored() -> EaglerayError: ...
@error("untrusted-model", "Running a model in torch needs a trusted workspace.", "Trust the workspace first.")
def untrusted_model() -> EaglerayError: ...
# fmt: on


def server_without_address(name: str, reason: str) -> EaglerayError:
    return EaglerayError(
        "server-without-address",
        t("The server {name} doesn't listen yet.", name=printable(name)),
        reason or t("Try again when it is ready."),
    )
