"""Pictures in files: saved whole or not at all, and read with nothing in them trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cattrs
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from eagleray.common.atomic_file import replace_text
from eagleray.common.errors import UNREADABLE_JSON
from eagleray.common.l10n import t
from eagleray.features.hangs import errors
from eagleray.features.hangs.model import VERSION, Coverage, Picture
from eagleray.sampling.rank_sets import RankSet

# A picture grows with its classes: one of 10,000 ranks has some megabytes.
_LARGEST = 256 * 2**20
_MOST_RANKS = 10_000_000

_converter = cattrs.Converter()
_converter.register_unstructure_hook(
    Coverage, make_dict_unstructure_fn(Coverage, _converter, processes=override(rename="seen"))
)
_converter.register_structure_hook(
    Coverage, make_dict_structure_fn(Coverage, _converter, processes=override(rename="seen"))
)


def as_json(taken: Picture) -> dict[str, Any]:
    plain: dict[str, Any] = _converter.unstructure(taken)
    return plain


def structured(value: Any) -> Picture:
    """The picture in a value of `as_json`.  Raises one of cattrs' errors, TypeError, KeyError or ValueError."""
    taken = _converter.structure(value, Picture)
    _check_ranks(taken)
    return taken


def save(taken: Picture, path: Path) -> None:
    """Writes the picture.  Raises OSError."""
    replace_text(path, json.dumps(as_json(taken), indent=1) + "\n")


def load(path: Path) -> Picture:
    """The picture in `path`.  Raises EaglerayError if it can't be read, or isn't one of this version."""
    try:
        if path.stat().st_size > _LARGEST:
            raise errors.no_picture(path, t("it is too large"))
        value = json.loads(path.read_bytes())
        if not isinstance(value, dict) or value.get("version") != VERSION:
            raise errors.no_picture(path, t("it is not a picture of this version"))
        taken = structured(value)
    except OSError as error:
        raise errors.no_picture(path, str(error.strerror)) from error
    except (*UNREADABLE_JSON, BaseValidationError, TypeError, KeyError) as error:
        raise errors.no_picture(path, t("it is not a picture of stacks")) from error
    return taken


def _check_ranks(taken: Picture) -> None:
    """Raises ValueError for ranks that are none, or are so many that counting them would take for ever."""
    if sum(len(RankSet.parse(each.ranks)) for each in taken.classes) > _MOST_RANKS:
        raise ValueError("too many ranks")
