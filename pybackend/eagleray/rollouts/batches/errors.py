"""Errors of saved batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import t

# More names are counted only.
_MOST_NAMES = 40


# fmt: off
@error("no-batch", "Can't read {path}: {why}.", "Select a file that torch.save wrote.")
def no_batch(path: str, why: str) -> EaglerayError: ...
@error("no-torch", "{python} has no torch.", "Select the Python of your training.")
def no_torch(python: str, detail: str) -> EaglerayError: ...
@error("batch-python-not-started", "Can't start {python}: {why}.", "Select the Python of your training.")
def python_not_started(python: str, why: str) -> EaglerayError: ...
@error("torch-fails", "{python} can't import torch: {why}", "Repair this environment, or select another Python.")
def torch_fails(python: str, why: str) -> EaglerayError:
    """torch is there, and something that it needs isn't."""
@error("batch-not-loaded", "torch can't load {path}.", "Save it again, or use the Python that wrote it.")
def not_loaded(path: str, output: str) -> EaglerayError: ...
@error("batch-too-large", "{path} needs more memory than there is.", "Use a node with more memory.")
def batch_too_large(path: str) -> EaglerayError: ...
@error("batch-script-failed", "{python} ended with exit code {code}.",
       "Repair this environment, or select another Python.")
def script_failed(python: str, code: int, output: str) -> EaglerayError: ...
@error("nothing-to-save", "No trajectory of {path} has token ids and a reward.",
       "Dumps of NeMo RL have them; AReaL's and verl's don't.")
def nothing_to_save(path: str) -> EaglerayError: ...
@error("no-wave-prompts", "The runs of {path} lack the token ids of their prompts.",
       "Start or add the server of the wave, which has them.")
def no_wave_prompts(path: str) -> EaglerayError: ...
@error("batch-not-written", "Can't write {path}: {why}.", "Select another file.")
def not_written(path: str, why: str) -> EaglerayError: ...
@error("script-exists", "{path} exists.", "`--force` replaces it.")
def script_exists(path: str) -> EaglerayError: ...
@error("untrusted-batch", "Reading a batch runs your Python, which needs a trusted workspace.",
       "Trust the workspace first.")
def untrusted_batch() -> EaglerayError: ...
@error("bad-training-command", "The command can't be split: {why}.", "Check its quotes.")
def bad_training_command(why: str) -> EaglerayError: ...
@error("unlisted-pickle", "What reading {path} would execute can't be listed.", "Don't load it.")
def unlisted_pickle(path: str, output: str) -> EaglerayError: ...
@error("not-a-batch", "{path} is {kind}.", "Select a file that torch.save wrote.")
def other_kind(path: str, kind: str) -> EaglerayError: ...
# fmt: on


@dataclass(eq=False)
class NeedsUnpickleError(EaglerayError):
    """Reading a file would import these names, and nothing else."""

    names: Sequence[str] = ()


def needs_unpickle(
    path: str, detail: str, names: Sequence[str], dangerous: Sequence[str]
) -> NeedsUnpickleError:
    """Names the code, so that the user can decide; a file with code that can run anything isn't offered to be loaded."""
    others = [name for name in names if name not in dangerous]
    message = t(
        "Reading {path} would execute code: {names}.",
        path=printable(path),
        names=_listed([*dangerous, *others]),
    )
    code, step = "needs-unpickle", t("Unpickle it only if you trust who wrote it.")
    if dangerous:
        message += f" {t('Dangerous: {names}.', names=_listed(dangerous))}"
        code, step = "dangerous-pickle", t("Don't load it.")
    return NeedsUnpickleError(code, message, step, detail, names=tuple(names))


def _listed(names: Sequence[str]) -> str:
    shown = printable(", ".join(names[:_MOST_NAMES]), 4000)
    rest = len(names) - _MOST_NAMES
    return t("{names} and {n} more", names=shown, n=rest) if rest > 0 else shown


def no_tokens_of_wave(path: str) -> EaglerayError:
    """Says what the agent has to request: Eagleray changes no request of it."""
    return EaglerayError(
        "no-tokens-of-wave",
        t("No run of {path} has a reward, token ids and logprobs.", path=printable(path)),
        t(
            "Let the agent request {logprobs}. In {body}, vLLM needs {vllm}, and SGLang {sglang}.",
            logprobs="logprobs=True",
            body="extra_body",
            vllm='{"return_token_ids": True}',
            sglang='{"return_prompt_token_ids": True, "return_meta_info": True}',
        ),
    )


def not_replayed(why: str) -> EaglerayError:
    return EaglerayError(
        "not-replayed",
        t(
            "This command can't train on saved rollouts of verl. {why}", why=printable(why, 400)
        ).strip(),
        t("Enter a training with verl, or a script that passes arguments on."),
    )
