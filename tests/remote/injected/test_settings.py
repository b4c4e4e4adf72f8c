"""The settings of a run in a variable that Ray expands."""

from __future__ import annotations

import json
import os

from eagleray.remote.injected import settings


def test_settings_contain_nothing_that_ray_expands() -> None:
    values = {
        "breakpoints": [
            {"path": "/a.py", "lines": [{"line": 1, "condition": "x == '${HOME}$PATH'"}]}
        ]
    }
    said = settings.text(values)
    assert os.path.expandvars(said) == said
    assert json.loads(said) == values
