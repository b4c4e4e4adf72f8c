"""Errors of integration tests."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, error


# fmt: off
@error("no-verl", "The command starts no training of verl that Eagleray recognises.",
       "Write `python3 -m verl.trainer.main_ppo`, or your script, after `--`.")
def no_verl() -> EaglerayError: ...
@error("not-one-batch", "The training can't be limited to one batch: {why}", "See what was tried: `--dry-run`.")
def not_limited(why: str) -> EaglerayError: ...
# fmt: on
