"""The rules that choose the token of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.clusters.credentials import TokenRules
from eagleray.ray.tokens import own_token

ME, STRANGER, ROOT = 1000, 1001, 0
HERE, FAR = "http://127.0.0.1:8265", "http://head.example:8265"
OWN = {"RAY_AUTH_TOKEN": "own"}

# address, listener, added, typed in -> token
RULES = [
    (HERE, ME, False, None, "own"),
    (HERE, ME, True, None, "own"),
    (HERE, STRANGER, False, None, None),
    (HERE, STRANGER, True, None, None),
    (HERE, STRANGER, True, "typed", None),
    (HERE, ROOT, False, "typed", "typed"),
    (HERE, None, False, "typed", "typed"),
    (HERE, ROOT, False, None, None),
    (HERE, ROOT, True, None, "own"),
    (HERE, None, False, None, None),
    (FAR, None, False, None, None),
    (FAR, None, True, None, "own"),
    (FAR, None, True, "typed", "typed"),
    (FAR, None, False, "typed", "typed"),
    (HERE, ME, False, "typed", "typed"),
]


@pytest.mark.parametrize(("address", "listener", "added", "typed", "token"), RULES)
def test_token_follows_the_table_of_rules(
    address: str, listener: int | None, added: bool, typed: str | None, token: str | None
) -> None:
    rules = TokenRules(OWN, listener=lambda host, port: listener, uid=ME)
    if typed:
        rules.type_in(address, typed)
        rules.type_in("http://other:1", "other")
    assert rules.token_for(address, added=added) == token


def test_listener_is_checked_on_request() -> None:
    owner = [ME]
    rules = TokenRules(OWN, listener=lambda host, port: owner[-1], uid=ME)
    source = rules.source(HERE, lambda: False)
    assert source(False) == "own"
    owner.append(STRANGER)
    assert source(False) == "own"
    assert source(True) is None
    assert source(False) is None


def test_entered_token_can_be_removed() -> None:
    rules = TokenRules({}, listener=lambda host, port: ME, uid=ME)
    rules.type_in(HERE, "typed")
    rules.type_in(HERE, "")
    assert rules.token_for(HERE, added=True) is None


@pytest.mark.parametrize("bad", ["two\nlines", "naïve", "nul\x00", "  "])
def test_text_that_no_header_takes_is_not_a_token(bad: str) -> None:
    rules = TokenRules({"RAY_AUTH_TOKEN": bad}, listener=lambda host, port: ME, uid=ME)
    rules.type_in(HERE, bad)
    assert rules.token_for(HERE, added=True) is None


def test_rays_own_token_is_read_from_variable_path_or_home(tmp_path: Path) -> None:
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("of-home\n")
    (tmp_path / "elsewhere").write_text(" of-path ")
    home = {"HOME": str(tmp_path)}
    path = {"RAY_AUTH_TOKEN_PATH": str(tmp_path / "elsewhere")}
    assert own_token(home | path | {"RAY_AUTH_TOKEN": "of-variable"}) == "of-variable"
    assert own_token(home | path) == "of-path"
    assert own_token(home) == "of-home"
    assert own_token({"HOME": str(tmp_path / "nowhere")}) is None
    assert own_token({}) is None
    assert own_token({"RAY_AUTH_TOKEN_PATH": str(tmp_path)}) is None


def problem_of(cluster: str, *, asked: bool = True) -> str:
    rules = TokenRules(OWN, listener=lambda host, port: None, uid=ME)
    if asked:
        rules.source(cluster, lambda: True)(True)
    problem = rules.problem(cluster)
    return problem.code if problem else ""


def test_token_over_plain_http_is_reported_once_it_is_sent() -> None:
    assert problem_of(FAR) == "plain-text-credentials"
    assert problem_of(FAR, asked=False) == ""


@pytest.mark.parametrize(
    "cluster",
    [
        "https://head.example:8265",
        "http://127.0.0.1:8265",
        "http://[::1]:8265",
        "ssh://login/http://head.example:8265",
        "slurm://12",
    ],
)
def test_token_that_cannot_be_overheard_is_not_reported(cluster: str) -> None:
    assert problem_of(cluster) == ""


async def test_headers_over_plain_http_are_reported() -> None:
    rules = TokenRules({}, listener=lambda host, port: None, uid=ME)
    rules.set_access(FAR, headers={"X-Key": "secret"})
    (await rules.find_endpoint(FAR)()).headers(True)
    problem = rules.problem(FAR)
    assert problem is not None
    assert "secret" not in problem.message
