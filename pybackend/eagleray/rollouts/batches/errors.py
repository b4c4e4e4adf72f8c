"""Errors of saved batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t, translated

# More names are counted only.
_MOST_NAMES = 40


def no_batch(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "no-batch",
        t("Can't read {path}: {why}.", path=printable(path), why=printable(why)),
        t("Select a file that torch.save wrote."),
    )


def no_torch(python: str, detail: str) -> EaglerayError:
    return EaglerayError(
        "no-torch",
        t("{python} has no torch.", python=printable(python)),
        t("Select the Python of your training."),
        detail,
    )


def python_not_started(python: str, why: str) -> EaglerayError:
    return EaglerayError(
        "batch-python-not-started",
        t("Can't start {python}: {why}.", python=printable(python), why=printable(why)),
        t("Select the Python of your training."),
    )


def torch_fails(python: str, why: str) -> EaglerayError:
    """torch is there, and something that it needs isn't."""
    return EaglerayError(
        "torch-fails",
        t("{python} can't import torch: {why}", python=printable(python), why=printable(why, 300)),
        t("Repair this environment, or select another Python."),
    )


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


def unlisted_pickle(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "unlisted-pickle",
        t("What reading {path} would execute can't be listed.", path=printable(path)),
        t("Don't load it."),
        why,
        output=why,
    )


def other_kind(path: str, kind: str) -> EaglerayError:
    return EaglerayError(
        "not-a-batch",
        t("{path} is {kind}.", path=printable(path), kind=translated(kind)),
        t("Select a file that torch.save wrote."),
    )


def not_loaded(path: str, detail: str) -> EaglerayError:
    return EaglerayError(
        "batch-not-loaded",
        t("torch can't load {path}.", path=printable(path)),
        t("Save it again, or use the Python that wrote it."),
        detail,
        output=detail,
    )


def batch_too_large(path: str) -> EaglerayError:
    return EaglerayError(
        "batch-too-large",
        t("{path} needs more memory than there is.", path=printable(path)),
        t("Use a node with more memory."),
    )


def script_failed(python: str, code: int, output: str) -> EaglerayError:
    return EaglerayError(
        "batch-script-failed",
        t("{python} ended with exit code {code}.", python=printable(python), code=code),
        t("Repair this environment, or select another Python."),
        output=output,
    )


def nothing_to_save(path: str) -> EaglerayError:
    return EaglerayError(
        "nothing-to-save",
        t("No trajectory of {path} has token ids and a reward.", path=printable(path)),
        t("Dumps of NeMo RL have them; AReaL's and verl's don't."),
    )


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


def no_wave_prompts(path: str) -> EaglerayError:
    return EaglerayError(
        "no-wave-prompts",
        t("The runs of {path} lack the token ids of their prompts.", path=printable(path)),
        t("Start or add the server of the wave, which has them."),
    )


def not_written(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "batch-not-written",
        t("Can't write {path}: {why}.", path=printable(path), why=printable(why)),
        t("Select another file."),
    )


def script_exists(path: str) -> EaglerayError:
    return EaglerayError(
        "script-exists",
        t("{path} exists.", path=printable(path)),
        t("`--force` replaces it."),
    )


def untrusted_batch() -> EaglerayError:
    return EaglerayError(
        "untrusted-batch",
        t("Reading a batch runs your Python, which needs a trusted workspace."),
        t("Trust the workspace first."),
    )


def not_replayed(why: str) -> EaglerayError:
    return EaglerayError(
        "not-replayed",
        t(
            "This command can't train on saved rollouts of verl. {why}", why=printable(why, 400)
        ).strip(),
        t("Enter a training with verl, or a script that passes arguments on."),
    )


def bad_training_command(why: str) -> EaglerayError:
    return EaglerayError(
        "bad-training-command",
        t("The command can't be split: {why}.", why=printable(why)),
        t("Check its quotes."),
    )
