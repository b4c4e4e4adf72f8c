"""Cleaning of texts before they are shown: redaction and logs, with the law that no secret and no escape comes through."""

from __future__ import annotations

import re

from eagleray.common.redact import redact_arguments, redact_env, redact_text
from eagleray.debug.workers.logs import LineFeed, clean_text, last_lines

from tests.fuzz.target import Target

SECRET = "hf_0123456789abcdefghijKLMNOPQRSTUV"
PASSWORD = "qX7vRk2mZp9sLw4t"
TEXTS = [
    f"HF_TOKEN={PASSWORD} python train.py --api-key {PASSWORD} lr=3",
    f'{{"api_key": "{PASSWORD}", "max_tokens": 512}}',
    f"Authorization: Bearer {PASSWORD}\n  https://user:{PASSWORD}@host/x",
    f"wandb login {PASSWORD}\nKeyError: 'MY_PASSWORD={PASSWORD}'",
    f"loss=3.5 tokens=1024 {SECRET} step 4",
]
WORDS = (
    "TOKEN",
    "KEY",
    "=",
    ":",
    '"',
    "'",
    "--",
    "Bearer ",
    "Basic ",
    "://",
    "@",
    "password",
    "-u ",
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def redacted(text: str) -> None:
    """Text in the form of a token is hidden in any place; named secrets are hidden in each of their places."""
    shown = redact_text(text)
    assert len(shown) <= len(text) + 4 * text.count("=") + 4 * text.count(":") + 400
    if re.search(rf"(?<!\w){SECRET}(?!\w)", text):
        assert not re.search(rf"(?<!\w){SECRET}(?!\w)", shown), shown
    redact_arguments(text.split(" "))
    redact_env({"A": text, "HF_TOKEN": text})


def hidden(text: str) -> None:
    """A secret with its name is hidden whatever comes before it on other lines."""
    for known in (f"HF_TOKEN={PASSWORD}", f'"api_key": "{PASSWORD}"', f"--api-key {PASSWORD}"):
        shown = redact_text(f"{text}\n\n{known}\n")
        assert PASSWORD not in shown.rpartition("\n\n")[2], (known, shown[-200:])


def log(text: str) -> None:
    """However a log is cut into chunks, no control character and no known token comes through."""
    shown = clean_text(text)
    assert not _CONTROL.search(shown.replace("\n", "").replace("\t", "")), shown[:200]
    feed = LineFeed()
    parts = [text[at : at + 97] for at in range(0, len(text), 97)]
    fed = "".join([*(feed.feed(part) for part in parts), feed.end()])
    assert not _CONTROL.search(fed.replace("\n", "").replace("\t", ""))
    for limit in (0, 1, 10):
        kept, _ = last_lines(shown, limit)
        assert shown.endswith(kept)


TARGETS = [
    Target("redaction", "text", redacted, TEXTS, (), WORDS),
    Target("redaction-of-names", "text", hidden, ["x", "a line\nb", "loss: 3"], (), WORDS),
    Target(
        "logs",
        "text",
        log,
        ["a\x1b[31mred\x1b[0m\r\n:job_id:01\nb", *TEXTS],
        (),
        ("\x1b[", "\x1b]0;", "\x07", "\x9b", "\r", "\n", ":job_id:"),
    ),
]
