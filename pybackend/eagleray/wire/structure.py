"""Wire types to plain JSON values and back, strictly: a number is no text and a text no number."""

from __future__ import annotations

from typing import Any, TypeVar

import cattrs

T = TypeVar("T")


class Wire:
    """Converts the attrs classes of `messages.py`; unknown keys are ignored, so that both ends may grow."""

    def __init__(self) -> None:
        self._converter = cattrs.Converter()
        for kind, accepted in ((str, str), (int, int), (float, (int, float)), (bool, bool)):
            self._converter.register_structure_hook(kind, _strict(kind, accepted))

    def plain(self, value: object) -> Any:
        return self._converter.unstructure(value)

    def structured(self, value: object, kind: type[T]) -> T:
        """Raises a `cattrs` validation error, ValueError or TypeError."""
        return self._converter.structure(value, kind)


def _strict(kind: type[Any], accepted: Any) -> Any:
    def structure(value: object, _: object) -> Any:
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"expected {kind.__name__}, not {type(value).__name__}")
        return value

    return structure
