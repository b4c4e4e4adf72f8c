"""Literals of rules that overlap in a line, which a scan reports only in part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.matching import Matcher, Sign
from eagleray.doctor.rule_files import own_rules
from eagleray.doctor.unknown_errors import MARKERS


def test_reported_texts_give_the_literals_of_a_search_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    literals = Matcher(own_rules()).literals()
    glued = [
        f"{first}{then[size:]}"
        for first in (*literals, *MARKERS)
        for then in literals
        for size in range(2, min(len(first), len(then)))
        if first.endswith(then[:size])
    ]
    examples = [example for rule in own_rules() for example in rule.examples]
    log = tmp_path / "a.log"
    log.write_text("\n".join(glued[::3] + examples))
    near, compared = Matcher._near, []

    def of_both(self: Matcher, signs: Sequence[Sign], text: str) -> Iterable[str]:
        own = near(self, signs, text)
        compared.append(text)
        assert set(own) == set(self._present(text)), text
        return own

    monkeypatch.setattr(Matcher, "_near", of_both)
    diagnose(list_logs([log])[0], own_rules())

    assert len(compared) > len(examples)
