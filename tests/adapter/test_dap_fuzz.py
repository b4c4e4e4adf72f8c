"""A short run of the fuzzer of DAP requests with a fixed seed; `npm run fuzz` runs longer."""

from __future__ import annotations

import pytest

from tests.adapter.dap_fuzz import fuzz


@pytest.mark.parametrize("seed", [0, 1000])
def test_random_requests_lose_no_stop(seed: int) -> None:
    assert fuzz(seed, 0, sessions=15) == 15
