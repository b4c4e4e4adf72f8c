"""Errors of the debug adapter's process."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable


def adapter_in_use(count: int) -> EaglerayError:
    return EaglerayError(
        "in-use",
        f"The debug adapter is attached to {count} workers.",
        "Release them first: `eagleray release`.",
    )


def adapter_lost(detail: str = "") -> EaglerayError:
    return EaglerayError(
        "adapter-lost",
        "Eagleray's debug adapter ended; the workers that it held have run on.",
        "Attach again when they reach their next breakpoint().",
        detail,
    )


def tunnel_ended(place: str) -> EaglerayError:
    return EaglerayError(
        "tunnel-ended",
        f"{place} leads nowhere any more: Eagleray's debug adapter, which kept it open, ended.",
        "Run the command again.",
    )


def adapter_stuck(seconds: float) -> EaglerayError:
    return EaglerayError(
        "adapter-stuck",
        f"Eagleray's debug adapter did not answer within {seconds:g} s.",
        "Try again; the workers that it holds still wait.",
    )


def adapter_not_started(detail: str) -> EaglerayError:
    return EaglerayError(
        "adapter-not-started",
        "Eagleray's debug adapter could not be started.",
        "The log says why.",
        detail,
    )


def adapter_too_old(version: str) -> EaglerayError:
    return EaglerayError(
        "adapter-too-old",
        f"The debug adapter of version {printable(version)} that runs here cannot do this.",
        "Release its workers (`eagleray release`); it then ends, and this version's takes over.",
    )
