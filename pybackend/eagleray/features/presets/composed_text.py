"""The composed configuration of a debug run as text, without secrets."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.redact import HIDDEN, is_secret, redact_text
from eagleray.features.presets.composing import Composed
from eagleray.features.presets.errors import not_composed


def shown_values(composed: Composed) -> dict[str, str]:
    """The value of each key, in the order of the settings."""
    return {printable(key, 200): _shown(key, value) for key, value in composed.values.items()}


def error_of(composed: Composed) -> EaglerayError | None:
    """The error of a configuration that can't be composed."""
    return not_composed(redact_text(composed.error), composed.next_step) if composed.error else None


def _shown(key: str, value: str | None) -> str:
    if value is None:
        return "not in the configuration"
    return HIDDEN if is_secret(key, value) else printable(redact_text(value), 200) or "(empty)"
