"""What is hidden of environments and of texts."""

from __future__ import annotations

import pytest
from eagleray.common.redact import redact_env, redact_text

HIDDEN = [
    ("WANDB_API_KEY=abc123", "WANDB_API_KEY=…"),
    ("export HF_TOKEN='h f'", "export HF_TOKEN='…'"),
    ('{"api_key": "sk-1\\"2", "lr": 0.1}', '{"api_key": "…", "lr": 0.1}'),
    ("{'aws_secret_access_key': 'x', 'a': 1}", "{'aws_secret_access_key': '…', 'a': 1}"),
    ("password: hunter2 done", "password: … done"),
    ("DB_PASSWORD=12345", "DB_PASSWORD=…"),
    ("--auth-token=xyz --steps=3", "--auth-token=… --steps=3"),
    ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer …"),
    (
        "curl -H 'X-Ray-Authorization: Bearer abcdefgh1234'",
        "curl -H 'X-Ray-Authorization: Bearer …'",
    ),
    ("token = Bearer abcdefgh", "token = …"),
    ("postgres://user:pw@db/x", "postgres://user:…@db/x"),
    ("KeyError: OPENAI_API_KEY=hunter22", "KeyError: OPENAI_API_KEY=…"),
    ("KeyError: 'MY_TOKEN=x'", "KeyError: 'MY_TOKEN=…'"),
    ("my.secret.value=a,b", "my.secret.value=…,b"),
]

KEPT = [
    "loss=0.5 step=3",
    "num_tokens=512 total_tokens: 1024",
    "max_tokens: 4096, prompt_tokens=12.5",
    "KeyError: 'actor.train'",
    "KeyboardInterrupt: stopped",
    "http://head:8265/api",
    "a keyboard",
    "",
]


@pytest.mark.parametrize(("text", "shown"), HIDDEN)
def test_hidden(text: str, shown: str) -> None:
    assert redact_text(text) == shown


@pytest.mark.parametrize("text", KEPT)
def test_kept(text: str) -> None:
    assert redact_text(text) == text


def test_twice_is_once() -> None:
    for text, _ in HIDDEN:
        assert redact_text(redact_text(text)) == redact_text(text)


def test_environment() -> None:
    env = {"RANK": "3", "MY_TOKEN": "x", "openai_key": "y", "Passwd": "z", "MONKEY": "w"}
    shown = redact_env(env)
    assert shown["RANK"] == "3"
    assert {shown[name] for name in ("MY_TOKEN", "openai_key", "Passwd", "MONKEY")} == {"…"}


@pytest.mark.parametrize("piece", ["TOKEN", "key", "a:", "\"secret'", "Bearer ", "://u:", "x"])
@pytest.mark.timeout(60)
def test_long_lines_end(piece: str) -> None:
    redact_text(piece * 200_000)
