"""Tokens, headers and authorities that the user keeps for the command: read, checked, and not readable for others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from eagleray.clusters.credentials import (
    ClusterAccess,
    TokenRules,
    checked_headers,
    stored_access,
)
from eagleray.common.errors import EaglerayError

PROXY = "https://proxy.example:443/ray"
SAID = {PROXY: {"token": " t\n", "headers": {"X-Key": "secret "}, "ca_file": "/etc/ca.pem"}}
READ = {PROXY: ClusterAccess("t", {"X-Key": "secret"}, "/etc/ca.pem")}


def kept(folder: Path, said: Any, mode: int = 0o600) -> Path:
    file = folder / "access.json"
    file.write_text(said if isinstance(said, str) else json.dumps(said))
    file.chmod(mode)
    return file


def test_variable_overrides_the_file(tmp_path: Path) -> None:
    file = kept(tmp_path, {"http://other:1": {}})
    assert stored_access({"EAGLERAY_ACCESS": json.dumps(SAID)}, file) == READ
    assert stored_access({}, file) == {"http://other:1": ClusterAccess()}
    assert stored_access({}, kept(tmp_path, SAID)) == READ
    assert stored_access({}, tmp_path / "none.json") == {}
    assert stored_access({}, None) == {}


@pytest.mark.parametrize(
    "said",
    [
        '{"secret": ',
        "[1]",
        {PROXY: "secret"},
        {PROXY: {"token": 1}},
        {PROXY: {"headers": ["X-Key: secret"]}},
        {PROXY: {"headers": {"X-Key": 1}}},
        {PROXY: {"tokne": "secret"}},
        {PROXY: {"token": "secret", "ca_file": "~no-such-user-here/ca.pem"}},
    ],
)
def test_unusable_entry_is_reported_without_its_text(tmp_path: Path, said: Any) -> None:
    with pytest.raises(EaglerayError) as failed:
        stored_access({}, kept(tmp_path, said))
    assert failed.value.code == "bad-access-file"
    assert "secret" not in f"{failed.value} {failed.value.detail}"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_file_that_others_can_read_is_not_used(tmp_path: Path, mode: int) -> None:
    with pytest.raises(EaglerayError) as failed:
        stored_access({}, kept(tmp_path, SAID, mode))
    assert failed.value.code == "bad-access-file"
    assert "0600" in failed.value.next_step


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "x"},
        {"transfer-encoding": "chunked"},
        {"X Key": "x"},
        {"X-Key": "a\r\nX-Other: b"},
        {"X-Key": ""},
        {"": "x"},
        {"X-Key": "ü"},
    ],
)
def test_headers_that_would_frame_the_request_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(EaglerayError) as failed:
        checked_headers(headers)
    assert failed.value.code == "bad-header"


def test_secrets_are_not_in_the_text_of_values() -> None:
    assert "secret" not in repr(READ)
    assert "'t'" not in repr(READ)


async def test_credentials_of_a_cluster_go_to_no_other(tmp_path: Path) -> None:
    kept(tmp_path, SAID)
    rules = TokenRules({}, listener=lambda host, port: None, folder=tmp_path)
    rules.set_access("ssh://login/http://node-1:8265", headers={"X-Key": "other"})
    way = await rules.find_endpoint(PROXY)()
    assert (way.url, way.ca_file, way.headers(True)) == (PROXY, "/etc/ca.pem", {"X-Key": "secret"})
    assert rules.token_for(PROXY, added=False) == "t"
    assert rules.headers_for("ssh://login/http://node-1:8265") == {"X-Key": "other"}
    for other in ("https://proxy.example:443/other", "https://proxy.example:443", "slurm://12"):
        assert rules.headers_for(other) == {}
        assert rules.ca_file(other) == ""
        assert rules.token_for(other, added=True) is None


async def test_typed_credentials_override_stored_ones_until_removed(tmp_path: Path) -> None:
    kept(tmp_path, SAID)
    rules = TokenRules({}, listener=lambda host, port: None, folder=tmp_path)
    rules.set_access(PROXY, token="typed", headers={"X-Other": "1"}, ca_file="~/ca.pem")
    assert rules.token_for(PROXY, added=False) == "typed"
    assert rules.headers_for(PROXY) == {"X-Other": "1"}
    assert rules.ca_file(PROXY) == str(Path("~/ca.pem").expanduser())
    rules.set_access(PROXY, token="")
    assert rules.headers_for(PROXY) == {"X-Other": "1"}
    rules.forget(PROXY)
    assert rules.token_for(PROXY, added=False) == "t"


def test_stranger_on_this_machine_gets_no_headers(tmp_path: Path) -> None:
    here = "http://127.0.0.1:8265"
    owner = [os.getuid()]
    rules = TokenRules({}, listener=lambda host, port: owner[-1])
    rules.set_access(here, headers={"X-Key": "secret"})
    assert rules.headers_for(here) == {"X-Key": "secret"}
    owner.append(os.getuid() + 1)
    assert rules.headers_for(here, check=False) == {"X-Key": "secret"}
    assert rules.headers_for(here) == {}


async def test_broken_file_is_reported_when_the_endpoint_is_resolved(tmp_path: Path) -> None:
    kept(tmp_path, "{")
    rules = TokenRules({}, listener=lambda host, port: None, folder=tmp_path)
    assert rules.token_for(PROXY, added=True) is None
    with pytest.raises(EaglerayError) as failed:
        await rules.find_endpoint(PROXY)()
    assert failed.value.code == "bad-access-file"


@pytest.mark.parametrize("found", ["slurm://12", "ssh://login/http://127.0.0.1:8265"])
def test_only_an_added_cluster_beyond_a_route_gets_rays_own_token(found: str) -> None:
    def listener(host: str, port: int) -> int:
        raise AssertionError("A listener beyond a route is none of this machine.")

    rules = TokenRules({"RAY_AUTH_TOKEN": "own"}, listener=listener)
    assert rules.token_for(found, added=False) is None
    assert rules.token_for(found, added=True) == "own"
