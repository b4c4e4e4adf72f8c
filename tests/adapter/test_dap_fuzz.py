"""A short run of the fuzzer of DAP requests, always the same; `npm run fuzz` runs on."""

from __future__ import annotations

import pytest

from tests.adapter.dap_fuzz import fuzz


@pytest.mark.parametrize("seed", [0, 1000])
def test_no_client_can_lose_a_stop(seed: int) -> None:
    assert fuzz(seed, 0, sessions=15) == 15
