"""The variables of a server, which one that doesn't listen yet has none of."""

from __future__ import annotations

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.servers.environment import environment_of
from eagleray.rollouts.servers.model import InferenceServer


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("", "qwen doesn't listen yet."),
        ("The model doesn't fit the GPU.", "The model doesn't fit the GPU."),
    ],
)
def test_server_without_an_address_says_why_and_where_its_log_is(reason: str, message: str) -> None:
    with pytest.raises(EaglerayError) as raised:
        environment_of(InferenceServer("qwen", "", "", "starting", reason=reason))
    assert (raised.value.code, raised.value.message) == ("server-not-ready", message)
    assert raised.value.next_step == "The log of qwen has the details."
