"""The note of a node on NCCL's RAS (`remote/sampling/ras_records.py`), of which nothing is trusted."""

from __future__ import annotations

import json
import re

import cattrs
from cattrs.errors import BaseValidationError

from eagleray.common.errors import UNREADABLE_JSON
from eagleray.observe.hangs.model import RasRow
from eagleray.remote.sampling.rank_sets import RankSet
from eagleray.remote.sampling.ras import UNREADABLE

_PLACE = re.compile(r"\d{1,9}: \d{1,19}@[0-9A-Za-z.:%_+?-]{0,64}")


def note_of(node: str, text: str) -> RasRow:
    """The note in `text`; one that can't be read says that."""
    try:
        row = cattrs.structure({**json.loads(text), "node": node}, RasRow)
        for each in row.notable:
            for ranks in (each.joined, each.behind, each.absent, each.dead):
                RankSet.parse(ranks)
            if not all(map(_PLACE.fullmatch, each.places)):
                raise ValueError("not a process of a rank")
    except (*UNREADABLE_JSON, BaseValidationError, TypeError):
        return RasRow(node, "", (UNREADABLE,), 0, 0, "", ())
    return row
