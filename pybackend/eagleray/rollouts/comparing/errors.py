"""Errors of comparisons of engines."""

from __future__ import annotations

from pathlib import Path

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t


def engine_unreachable(name: str, why: str) -> EaglerayError:
    return EaglerayError(
        "engine-unreachable",
        t("Can't reach the server {name}.", name=printable(name)),
        t("Check its address, and that it is running."),
        output=why,
    )


def engine_slow(name: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "engine-slow",
        t("{name} took longer than {n} s for a response.", name=printable(name), n=f"{seconds:g}"),
        t("Check its log, or compare fewer prompts with `--limit`."),
    )


def engine_refused_key(name: str) -> EaglerayError:
    return EaglerayError(
        "engine-refused-key",
        t("{name} rejects the API key.", name=printable(name)),
        t("Set OPENAI_API_KEY to the key of this server."),
    )


def engine_redirects(name: str) -> EaglerayError:
    return EaglerayError(
        "engine-redirects",
        t("{name} redirects to another address.", name=printable(name)),
        t("Use the address that it redirects to."),
    )


def engine_failed(name: str, status: int, output: str) -> EaglerayError:
    return EaglerayError(
        "engine-failed",
        t("{name} responded with error {status}.", name=printable(name), status=status),
        t("Check its log."),
        output=output,
    )


def engine_unreadable(name: str, detail: str) -> EaglerayError:
    return EaglerayError(
        "engine-unreadable",
        t("{name} sent a response that Eagleray can't read.", name=printable(name)),
        t("Check that this is an inference server."),
        detail,
    )


def unsupported_engine(name: str) -> EaglerayError:
    return EaglerayError(
        "unsupported-engine",
        t("{name} gives no token ids and logprobs.", name=printable(name)),
        t("Use vLLM, SGLang or llama.cpp."),
    )


def no_prompt_ids(name: str) -> EaglerayError:
    return EaglerayError(
        "no-prompt-ids",
        t("{name} doesn't return token ids of prompts.", name=printable(name)),
        t("Update the server: SGLang 0.5.13 or vLLM 0.10.2."),
    )


def unscored_tokens(name: str) -> EaglerayError:
    return EaglerayError(
        "unscored-tokens",
        t("{name} returned logprobs of other tokens.", name=printable(name)),
        t("Check that no grammar or processor of the server is active."),
    )


def reference_failed(why: str, output: str = "") -> EaglerayError:
    return EaglerayError(
        "reference-failed",
        t("The model can't be computed in torch: {why}.", why=printable(why)),
        t("Check the folder, and the interpreter (`--python`)."),
        output=output,
    )


def unreadable_dump(path: Path, why: str) -> EaglerayError:
    return EaglerayError(
        "unreadable-dump",
        t("Can't compare with {path}: {why}.", path=printable(str(path)), why=why),
        t("It needs rows of JSON with token ids and logprobs."),
    )


def wave_without_prompts(path: Path) -> EaglerayError:
    return EaglerayError(
        "wave-without-prompts",
        t("The runs of {path} lack the token ids of their prompts.", path=printable(str(path))),
        t("Start or add the server of the wave, which has them."),
    )


def dumps_differ() -> EaglerayError:
    return EaglerayError(
        "dumps-differ",
        t("The dumps have no sequence in common."),
        t("Compare dumps of the same rollouts."),
    )


def unreadable_prompts(path: Path, why: str) -> EaglerayError:
    return EaglerayError(
        "unreadable-prompts",
        t("Can't read prompts of {path}: {why}.", path=printable(str(path)), why=why),
        t("Each line needs `prompt` or `messages`."),
    )


def prompts_needed() -> EaglerayError:
    return EaglerayError(
        "prompts-needed",
        t("Nothing to compare: no prompts."),
        t("Specify a file with `--data FILE`."),
    )


def server_without_address(name: str, reason: str) -> EaglerayError:
    return EaglerayError(
        "server-without-address",
        t("The server {name} doesn't listen yet.", name=printable(name)),
        reason or t("Try again when it is ready."),
    )


def comparison_unsaved(path: Path, why: str) -> EaglerayError:
    return EaglerayError(
        "comparison-unsaved",
        t("Can't write {path}: {why}.", path=printable(str(path)), why=printable(why)),
        t("Save it in another folder."),
    )


def comparison_not_stored() -> EaglerayError:
    return EaglerayError(
        "comparison-not-stored",
        t("This comparison is no longer stored."),
        t("Compare again."),
    )


def untrusted_model() -> EaglerayError:
    return EaglerayError(
        "untrusted-model",
        t("Running a model in torch needs a trusted workspace."),
        t("Trust the workspace first."),
    )
