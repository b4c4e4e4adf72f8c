"""A server that is a job of a real Ray cluster."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.fixtures import engine_command
from tests.ray_cluster import REPOSITORY, RayCluster, temporary_home
from tests.runs.terminal import eagleray

pytestmark = [pytest.mark.real_ray, pytest.mark.cluster("token")]


@pytest.fixture
def home(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with temporary_home() as home:
        for name, value in cluster.eagleray_env(home).items():
            monkeypatch.setenv(name, value)
        yield home


def test_server_runs_as_a_job_until_it_is_stopped(cluster: RayCluster, home: Path) -> None:
    """Its port is the one that it prints, since the command names none."""
    command = engine_command("--port", "0")
    options = ("--cluster", cluster.address, "--key-env", "LLAMA_API_KEY", "--json")
    out = eagleray(REPOSITORY, "serve", "start", *options, "--", *command)
    server = json.loads(out)
    assert (server["state"], server["model"]) == ("ready", "eagleray-tests")
    request = urllib.request.Request(
        f"{server['url']}/models", headers={"Authorization": f"Bearer {server['api_key']}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
    stopped = json.loads(eagleray(REPOSITORY, "serve", "stop", server["name"], "--json"))
    assert stopped["state"] == "stopped"
    with pytest.raises(OSError):
        urllib.request.urlopen(request, timeout=30)
