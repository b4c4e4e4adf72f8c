"""The first layer: whether both engines make the same token ids of the prompts."""

from __future__ import annotations

from collections.abc import Sequence

from eagleray.rollouts.comparing.model import Ids, PromptDifference, PromptLayer

# How many ids of a difference are shown.
_SHOWN = 8


def prompt_layer(
    rendered: Sequence[tuple[int, Ids, Ids]], plain: Sequence[tuple[Ids, Ids]] | None = None
) -> PromptLayer:
    """Compares prompts as (index, A's ids, B's ids), and texts without template and special tokens."""
    differences = [difference for each in rendered if (difference := _difference(*each))]
    return PromptLayer(
        compared=len(rendered),
        different=len(differences),
        plain_differ=None if plain is None else any(a != b for a, b in plain),
        first=differences[0] if differences else None,
    )


def _difference(index: int, a: Ids, b: Ids) -> PromptDifference | None:
    if a == b:
        return None
    pairs = enumerate(zip(a, b, strict=False))
    at = next((at for at, (left, right) in pairs if left != right), min(len(a), len(b)))
    return PromptDifference(index, at, a[at : at + _SHOWN], b[at : at + _SHOWN], len(a), len(b))
