"""The tests' engine answers as the facts about llama.cpp say."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.engine.fixtures import Engine, serving


def test_chat_has_logprobs_with_token_ids(engine: Engine) -> None:
    answer = _post(
        engine,
        "/v1/chat/completions",
        {
            "messages": [{"role": "user", "content": "Add an argument"}],
            "max_tokens": 8,
            "temperature": 0,
            "logprobs": True,
        },
    )

    entries = answer["choices"][0]["logprobs"]["content"]
    assert len(entries) == answer["usage"]["completion_tokens"]
    assert all(entry["logprob"] < 0 and 0 <= entry["id"] < 768 for entry in entries)
    assert (
        "".join(entry["token"] for entry in entries) == answer["choices"][0]["message"]["content"]
    )


def test_greedy_tokens_repeat(engine: Engine) -> None:
    request = {"prompt": "def main(", "n_predict": 24, "temperature": 0, "return_tokens": True}

    first, second = (_post(engine, "/completion", request)["tokens"] for _ in range(2))

    assert first == second
    assert len(set(first)) > 4


def test_request_without_the_key_is_refused(engine: Engine) -> None:
    with pytest.raises(HTTPError) as refused:
        _post(engine, "/completion", {"prompt": "a", "n_predict": 1}, key="sk-wrong")

    refused.value.close()
    assert refused.value.code == 401


def test_killed_engine_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests end servers by SIGKILL; this one still answers without its model's file."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving("--slots", "1") as killed:
        _post(killed, "/completion", {"prompt": "a", "n_predict": 1})
        assert list(tmp_path.iterdir()) == []
        os.kill(killed.pid, signal.SIGKILL)


def _post(engine: Engine, path: str, body: dict[str, Any], key: str = "") -> Any:
    headers = {"Authorization": f"Bearer {key or engine.key}", "Content-Type": "application/json"}
    request = Request(engine.address + path, json.dumps(body).encode(), headers)
    with urlopen(request, timeout=60) as response:
        return json.load(response)
