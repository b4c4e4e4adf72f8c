"""Waves of agents whose requests prove what is wrong, against a chat server without a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eagleray.features.rollouts.agents.model import DataItem, Observed
from eagleray.features.rollouts.agents.verdicts import verdicts

from tests.engine.fixtures import ENGINE_PYTHON
from tests.rollouts.fake_chat import fake_chat
from tests.rollouts.observed import PROGRAMS, observe, plan_of

LINES = (PROGRAMS / "http_agents.py").read_text().splitlines()


async def wave_of(target: str, model: str, runs: int = 16, **values: Any) -> Observed:
    async with fake_chat() as url:
        plan = plan_of(
            f"http_agents:{target}",
            python=ENGINE_PYTHON,
            base_url=url,
            items=(DataItem(1, {"model": model}),),
            groups=runs,
            **values,
        )
        return await observe(plan)


@pytest.mark.parametrize(
    ("target", "text"),
    [("Synchronous", "client.post(url"), ("StreamsSynchronously", "self.client.stream(")],
)
async def test_short_synchronous_requests_block_the_loop(
    own_home: Path, target: str, text: str
) -> None:
    """Each is far below any threshold of samples."""
    observed = await wave_of(target, "delay=0.023")
    assert observed.totals.max_requests_in_flight == 1
    [verdict, *_] = verdicts(observed)
    assert verdict.kind == "blocking-call"
    assert text in LINES[verdict.line - 1]
    assert "in 16 requests (" in verdict.sentence


async def test_concurrent_requests_block_nothing(own_home: Path) -> None:
    observed = await wave_of("Shared", "delay=0.2")
    assert observed.totals.blocking == () and verdicts(observed) == ()
