"""The settings of a profile become arguments of nsys."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.remote.injected.nsys import arguments
from eagleray.remote.injected.profile_settings import ProfileSettings


@pytest.mark.parametrize(
    ("values", "standing_by", "recording"),
    [
        (
            {"trace": "nvtx,osrt"},
            ["launch", "--session-new=s", "--trace=nvtx,osrt", "--wait=primary"],
            ["--sample=none", "--cpuctxsw=none"],
        ),
        (
            {"trace": "nvtx", "when": "steps"},
            ["launch", "--session-new=s", "--trace=cuda,nvtx", "--wait=primary", "--cuda-graph-trace=node"],
            ["--capture-range=cudaProfilerApi", "--capture-range-end=stop", "--sample=none", "--cpuctxsw=none"],
        ),
        (
            {"options": {"t": "mpi", "s": "cpu", "kill": "sigterm", "d": "5", "trace-fork-before-exec": "true", "python-sampling": ""}},
            ["launch", "--session-new=s", "--trace=mpi", "--wait=primary", "--trace-fork-before-exec=true", "--python-sampling"],
            ["--sample=cpu", "--cpuctxsw=none"],
        ),
    ],
)  # fmt: skip
def test_settings_become_arguments_of_nsys(
    values: dict[str, Any], standing_by: list[str], recording: list[str]
) -> None:
    profile = ProfileSettings(values)
    assert arguments.to_launch(profile, "s") == standing_by
    begun = arguments.to_record(profile, "s", "/o/r", in_ranges=profile.when == "steps")
    assert begun[:2] == ["start", "--session=s"] and "--force-overwrite=true" in begun
    assert sorted(begun[4:]) == sorted(recording)


def test_requested_recording_has_no_capture_range() -> None:
    profile = ProfileSettings({"when": "steps", "options": {"capture-range": "nvtx"}})
    assert not [word for word in arguments.to_record(profile, "s", "/o") if "range" in word]
