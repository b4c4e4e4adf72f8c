"""Translates the texts that users read.

The English text is the key of its translation, so that a text without one is shown in English.  A catalogue is
`locales/<language>.json`, an object of English texts and their translations; `locales/en.json` lists all texts.
`npm run l10n` writes that list from the calls of `t`, `counted`, `later` and `error`, so that their texts must be literals.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

CATALOGUES = Path(__file__).parent / "locales"
# Tells processes that Eagleray starts which language the editor has.
LANGUAGE_VARIABLE = "EAGLERAY_LANGUAGE"
# As gettext takes them.
_VARIABLES = (LANGUAGE_VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_TAG = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")

log = logging.getLogger(__name__)


class _Language:
    """The language of this process and its catalogue; English has none."""

    tag = ""
    shown = ""
    catalogue: Mapping[str, str] = {}


_chosen = _Language()


def t(text: str, /, **values: object) -> str:
    """Returns `text` in the user's language, with `values` in place of its `{placeholders}`.

    Not for values of modules and classes, which are made before the language is known: `later` marks those.
    """
    translated = _chosen.catalogue.get(text, text)
    if not values:
        return translated
    return _PLACEHOLDER.sub(lambda match: _value(match, values), translated)


def counted(number: int, singular: str, plural: str, /, **values: object) -> str:
    """Returns `singular` for 1 and `plural` for other numbers; their `{n}` is the number."""
    return t(singular if number == 1 else plural, n=number, **values)


def listed(items: Sequence[str]) -> str:
    """ "a", "a and b", "a, b, and c": the items of a sentence."""
    *first, last = items
    if len(first) > 1:
        return t("{items}, and {last}", items=", ".join(first), last=last)
    return t("{item} and {last}", item=first[0], last=last) if first else last


def later(text: str) -> str:
    """Returns `text` itself, and marks it as one that `translated` will translate when it is shown."""
    return text


def translated(marked: str, /, **values: object) -> str:
    """Returns what `t` returns, for a text that `later` has marked elsewhere."""
    return t(marked, **values)


def use(language: str, folder: Path = CATALOGUES) -> None:
    """Translates from now on into `language` ("de", "pt-br", "de_DE.UTF-8"), or into English if it has no catalogue."""
    tag = _tag(language)
    _chosen.tag = tag
    _chosen.shown, _chosen.catalogue = "", {}
    for candidate in dict.fromkeys((tag, tag.partition("-")[0])):
        if candidate and (file := folder / f"{candidate}.json").is_file():
            _chosen.shown, _chosen.catalogue = candidate, _read(file)
            return


def language() -> str:
    """The tag of the language in use, "" if none was chosen."""
    return _chosen.tag


def shown_language() -> str:
    """The tag of the catalogue in use, "" for English."""
    return _chosen.shown


def language_of(environ: Mapping[str, str] = os.environ) -> str:
    """The language that a user of the command line has chosen: the first variable that is set counts."""
    return next((environ[name] for name in _VARIABLES if environ.get(name)), "")


def environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """`environ` for a process that writes texts in the language of this one."""
    return {**environ, **({LANGUAGE_VARIABLE: _chosen.tag} if _chosen.tag else {})}


def placeholders(text: str) -> set[str]:
    """The names in the braces of `text`."""
    return set(_PLACEHOLDER.findall(text))


def _value(match: re.Match[str], values: Mapping[str, object]) -> str:
    return str(values[match[1]]) if match[1] in values else match[0]


def _tag(language: str) -> str:
    """ "de_DE.UTF-8@euro" as "de-de"; "" for "C" and for other values."""
    tag = re.split(r"[.@]", language)[0].replace("_", "-").lower()
    return tag if _TAG.fullmatch(tag) and tag != "c" else ""


def _read(file: Path) -> dict[str, str]:
    """The translations of a catalogue, without those whose placeholders differ from the English text's."""
    try:
        catalogue: object = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        log.warning("%s can't be read: %s", file.name, error)
        return {}
    if not isinstance(catalogue, dict):
        log.warning("%s is not an object of texts", file.name)
        return {}
    return {
        text: translation
        for text, translation in catalogue.items()
        if isinstance(translation, str) and placeholders(text) == placeholders(translation)
    }
