"""Errors of pictures of hangs."""

from __future__ import annotations

from collections.abc import Sequence

from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t


def no_processes(pids: Sequence[int]) -> EaglerayError:
    return EaglerayError(
        "no-processes",
        t("None of these processes runs: {pids}.", pids=", ".join(map(str, pids))),
        t("Check the numbers with `ps`."),
    )
