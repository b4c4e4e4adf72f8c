"""Ray's authentication token, from the places that Ray itself searches, in the same order."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Mapping
from pathlib import Path

OF_HOME = ".ray/auth_token"
LONGEST = 64 * 1024

log = logging.getLogger(__name__)


def own_token(environ: Mapping[str, str]) -> str | None:
    """Returns the token that Ray's own tools would use here, or None.

    1. The variable RAY_AUTH_TOKEN.
    2. The file that RAY_AUTH_TOKEN_PATH names.
    3. The file ~/.ray/auth_token.
    """
    if token := environ.get("RAY_AUTH_TOKEN", "").strip():
        return sendable(token)
    if path := environ.get("RAY_AUTH_TOKEN_PATH", ""):
        return _of_file(Path(path).expanduser())
    home = environ.get("HOME", "")
    return _of_file(Path(home) / OF_HOME) if home else None


def sendable(token: str) -> str | None:
    """Returns `token` without surrounding white space, or None if it can't be sent in an HTTP header."""
    token = token.strip()
    return token if token and token.isascii() and token.isprintable() else None


def is_over(token: str, now_s: float) -> bool:
    """Whether `token` has an expiry date (a JWT, as from Kubernetes) that has passed."""
    parts = token.split(".")
    if len(parts) != 3:
        return False
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return False
    until = claims.get("exp") if isinstance(claims, dict) else None
    return isinstance(until, int | float) and until <= now_s


def _of_file(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST)
    except OSError as error:
        log.debug("no token in %s: %s", path, error.strerror)
        return None
    return sendable(content.decode("utf-8", errors="replace"))
