"""Writes a page of the editor as one HTML file, which works without the editor and without a network.

The file has the page's own script and style, and the messages that draw it.  Its policy allows these two scripts and
this style by their hashes and nothing else: no connection, no picture, no form.  The messages are JSON in which no `<`
stands, so that a text of a cluster never ends the element; the page shows each as a text node.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import time as clock
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from eagleray import __version__
from eagleray.common.atomic_file import replace_text
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.common.redact import HIDDEN, redact_text
from eagleray.page import errors
from eagleray.page.messages import PageToExport
from eagleray.wire.requests import Wire

# Beside `pybackend`, in a checkout and in an installed extension.
BUNDLES = Path(__file__).resolve().parents[3] / "dist"
# It takes the place of the editor in the file.
_EDITOR = "exported_page"
_PAGES = ("comparison_page", "diagnosis_page", "picture_page", "report_page", "wave_page")


def export(shown: PageToExport) -> None:
    """Writes the file.  Raises `page-not-saved`."""
    path = Path(shown.path)
    try:
        replace_text(path, document(shown))
    except OSError as error:
        raise errors.not_saved(path, str(error.strerror)) from error


def export_record(path: str, page: str, title: str, message: dict[str, Any]) -> None:
    """Writes the page that one message of the editor draws, whose records become JSON.  Raises `page-not-saved`."""
    text = json.dumps([Wire().plain(message)])
    export(PageToExport(path, page, title, text))


def local_time(seconds: float) -> str:
    """A time as text, "2026-12-01 02:40 UTC"; "–" for a number outside the calendar."""
    try:
        time = datetime.fromtimestamp(seconds, timezone.utc).astimezone()
    except (ValueError, OverflowError, OSError):
        return "–"
    return time.strftime("%Y-%m-%d %H:%M %Z")


def document(shown: PageToExport) -> str:
    """The text of the file.  Raises OSError without the page's script, ValueError for another page."""
    if shown.page not in _PAGES:
        raise ValueError(f"not a page: {shown.page}")
    style = "".join(_bundle(f"{name}.css") for name in (shown.page, _EDITOR))
    scripts = [_script(_bundle(f"{name}.js")) for name in (_EDITOR, shown.page)]
    data = {"messages": redacted(json.loads(shown.messages)), "note": _note()}
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en" class="exported">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts, style)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(printable(redact_text(shown.title)))}</title>",
            f"<style>{style}</style>\n</head>\n<body>",
            f'<main id="page" data-translations="{html.escape(shown.translations)}"></main>',
            '<div id="announcement" role="status" aria-live="polite"></div>',
            f'<script type="application/json" id="exported">{_data(data)}</script>',
            *(f"<script>{script}</script>" for script in scripts),
            "</body>\n</html>\n",
        ]
    )


def redacted(value: Any) -> Any:
    """A JSON value with `…` in place of secrets in its texts."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        return [redacted(item) for item in value]
    if isinstance(value, dict):
        return {name: redacted(item) for name, item in value.items()}
    return value


def _note() -> str:
    time = local_time(clock.time())
    exported = t("Exported {time} by Eagleray {version}.", time=time, version=__version__)
    hidden = t(
        "Secrets are shown as {hidden}; paths and names of hosts are not hidden.", hidden=HIDDEN
    )
    return f"{exported} {hidden}"


def _bundle(name: str) -> str:
    return (BUNDLES / name).read_text("utf-8")


def _script(text: str) -> str:
    """Nothing in a script's literals may end its element, or begin a comment of HTML."""
    return text.replace("<!--", "\\x3C!--").replace("</script", "\\x3C/script")


def _data(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _policy(scripts: list[str], style: str) -> str:
    allowed = [
        "default-src 'none'",
        f"script-src {' '.join(map(_hash, scripts))}",
        f"style-src {_hash(style)}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(allowed)


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest())
    return f"'sha256-{digest.decode()}'"
