"""The user's own presets: answers, arguments and variables under a name, stored for each workspace, shared as JSON."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from eagleray.common.atomic_file import alone, check_replaceable, replace_text
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.common.redact import is_secret
from eagleray.runs.presets.errors import bad_preset, presets_not_stored, unknown_preset
from eagleray.runs.presets.model import ANSWERS

FORMAT = 1
# Names that mean something else.
RESERVED = frozenset({"", "none", "debug"})
_LARGEST = 64 * 1024
_MOST = 200
_LONGEST = 4096
_VARIABLE = re.compile(r"[A-Za-z_]\w{0,199}")
_KEYS = frozenset({"format", "name", "framework", "answers", "words", "env"})

log = logging.getLogger(__name__)


@frozen
class Preset:
    """`framework` is the one that the preset is for, "" for any; `arguments` follow all other ones."""

    name: str
    framework: str = ""
    answers: Mapping[str, str] = field(factory=dict)
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(factory=dict)


def to_text(preset: Preset) -> str:
    """The JSON that is shared."""
    content = {
        "format": FORMAT,
        "name": preset.name,
        "framework": preset.framework,
        "answers": dict(preset.answers),
        "words": list(preset.arguments),
        "env": dict(preset.env),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def of_text(text: str) -> Preset:
    """The preset in an untrusted text; raises `bad-preset`."""
    if len(text) > _LARGEST:
        raise bad_preset(t("it is larger than {size} kB", size=_LARGEST // 1024))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise bad_preset(t("it is not JSON ({error})", error=error)) from error
    if not isinstance(content, dict):
        raise bad_preset(t("it is not a JSON object"))
    return _of_json(content)


def _of_json(content: dict[str, Any]) -> Preset:
    if content.get("format") != FORMAT:
        raise bad_preset(
            t("its “format” is not {format}; a newer Eagleray may have made it", format=FORMAT)
        )
    if unknown := sorted(set(content) - _KEYS):
        raise bad_preset(t("it has “{key}”, which no preset has", key=unknown[0]))
    name = _text(content.get("name"), "name", 80).strip()
    if name.lower() in RESERVED or name.startswith("-"):
        raise bad_preset(t("“{name}” is no name for it", name=name))
    answers = _texts(content.get("answers", {}), "answers")
    if strange := sorted(set(answers) - ANSWERS):
        raise bad_preset(t("there is no option “{name}”", name=strange[0]))
    return Preset(
        name=name,
        framework=_text(content.get("framework", ""), "framework", 40),
        answers=answers,
        arguments=_arguments(content.get("words", [])),
        env=_env(content.get("env", {})),
    )


def _arguments(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _MOST:
        raise bad_preset(t("“{key}” is no list of at most {n} texts", key="words", n=_MOST))
    return tuple(_text(argument, "words", _LONGEST) for argument in value)


def _env(value: Any) -> dict[str, str]:
    env = _texts(value, "env")
    for name in env:
        if not _VARIABLE.fullmatch(name):
            raise bad_preset(t("“{name}” is no name of a variable", name=name))
        if is_secret(name):
            raise bad_preset(t("“{name}” looks like a secret, which others could read", name=name))
    return env


def _texts(content: Any, key: str) -> dict[str, str]:
    if not isinstance(content, dict) or len(content) > _MOST:
        raise bad_preset(t("“{key}” is no object of at most {n} texts", key=key, n=_MOST))
    return {_text(name, key, 200): _text(value, key, _LONGEST) for name, value in content.items()}


def _text(value: Any, key: str, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise bad_preset(t("“{key}” holds no text of at most {n} characters", key=key, n=longest))
    if not all(sign.isprintable() for sign in value):
        raise bad_preset(t("“{key}” holds a control character", key=key))
    return value


class OwnPresets:
    """One JSON file for each workspace in `folder`; read again each time, since several windows share it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, workspace: str) -> list[Preset]:
        """In the order of their names; what cannot be read is left out."""
        try:
            content = json.loads(self._file(workspace).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError, RecursionError) as error:
            log.warning("the presets of %s cannot be read: %s", workspace, error)
            return []
        listed = content.get("presets") if isinstance(content, dict) else None
        presets = [_readable(item) for item in listed] if isinstance(listed, list) else []
        return sorted((item for item in presets if item), key=lambda preset: preset.name)

    def named(self, workspace: str, name: str) -> Preset | None:
        return next((preset for preset in self.of(workspace) if preset.name == name), None)

    def save(self, workspace: str, preset: Preset) -> None:
        """It replaces one of the same name."""
        with self._alone(workspace):
            others = [other for other in self.of(workspace) if other.name != preset.name]
            self._write(workspace, [*others, preset])

    def delete(self, workspace: str, name: str) -> None:
        if self.named(workspace, name) is None:
            raise unknown_preset(name)
        with self._alone(workspace):
            self._write(workspace, [preset for preset in self.of(workspace) if preset.name != name])

    @contextlib.contextmanager
    def _alone(self, workspace: str) -> Iterator[None]:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with alone(self._file(workspace)):
                check_replaceable(self._file(workspace), FORMAT)
                yield
        except OSError as error:
            raise presets_not_stored(str(self._folder), error.strerror or str(error)) from error

    def _file(self, workspace: str) -> Path:
        return self._folder / f"{hashlib.sha256(workspace.encode()).hexdigest()[:16]}.json"

    def _write(self, workspace: str, presets: list[Preset]) -> None:
        value = {
            "version": FORMAT,
            "workspace": workspace,
            "presets": [json.loads(to_text(preset)) for preset in presets],
        }
        replace_text(self._file(workspace), json.dumps(value, indent=1))


def _readable(content: Any) -> Preset | None:
    try:
        return of_text(json.dumps(content))
    except EaglerayError as error:
        # One of another version does not hide the others.
        log.warning("a preset is left out: %s", error)
        return None
