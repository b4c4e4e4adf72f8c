"""Errors of integration tests."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t


def no_verl() -> EaglerayError:
    return EaglerayError(
        "no-verl",
        t("The command starts no training of verl that Eagleray recognises."),
        t("Write `python3 -m verl.trainer.main_ppo`, or your script, after `--`."),
    )


def not_limited(why: str) -> EaglerayError:
    return EaglerayError(
        "not-one-batch",
        t("The training can't be limited to one batch: {why}", why=printable(why, 400)),
        t("See what was tried: `--dry-run`."),
    )
