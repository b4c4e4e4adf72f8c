"""Hiding of secrets: values of `*KEY* *TOKEN* *SECRET* *PASSWORD*` never reach a view, a log or a report."""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "…"
SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWO?R?D|CREDENTIAL", re.IGNORECASE)

# A name that sounds secret, quoted or not, then `=` or `:`, then its value, quoted or up to white space.
# A name is tried only at its beginning and is bounded, so that long lines cost no more than their length.
_NAMED = re.compile(
    r"""(?P<before>(?<![A-Za-z0-9_.-])["']?)
        (?P<name>[A-Za-z0-9_.-]{0,96}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)[A-Za-z0-9_.-]{0,64})
        (?P<between>["']?[ \t]{0,4}[=:][ \t]{0,4})
        (?P<value>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?:Bearer|Basic)[ ]+[^\s"',;]+|[^\s"',;)}\]]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_EXCEPTION = re.compile(r"[\w.]*(Error|Interrupt|Exception)", re.IGNORECASE)
_NUMBER = re.compile(r"[\d.eE+-]+")
_BEARER = re.compile(r"\b(?P<scheme>Bearer|Basic)[ ]+[A-Za-z0-9+/_.~=-]{8,}", re.IGNORECASE)
_IN_URL = re.compile(r"\b(?P<scheme>[a-z][a-z0-9+.-]{0,20}://[^/\s:@]{0,200}):[^/\s@]+@")


def redact_env(env: Mapping[str, str]) -> dict[str, str]:
    """`env` with `…` for the value of every name that sounds secret."""
    return {name: HIDDEN if SECRET_NAME.search(name) else value for name, value in env.items()}


def redact_text(text: str) -> str:
    """`text` with `…` in place of values: `NAME_TOKEN=value`, `"api_key": "value"`, `Bearer value`."""
    text = _NAMED.sub(_hide_value, text)
    text = _BEARER.sub(rf"\g<scheme> {HIDDEN}", text)
    return _IN_URL.sub(rf"\g<scheme>:{HIDDEN}@", text)


def _hide_value(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    # Logs of training count tokens in every line, and KeyError is the name of no key.
    counts = "tokens" in name.lower() and _NUMBER.fullmatch(value)
    if counts:
        return found[0]
    if _EXCEPTION.fullmatch(name):
        # What follows may be a secret's name and value.
        return f"{found['before']}{name}{found['between']}{_NAMED.sub(_hide_value, value)}"
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['before']}{name}{found['between']}{quote}{HIDDEN}{quote}"
