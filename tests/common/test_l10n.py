"""Texts are translated by the catalogue of the user's language, and stay English without one."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.common import l10n
from eagleray.common.l10n import counted, t

GERMAN = {
    "No worker is paused.": "Kein Worker ist angehalten.",
    "{name} exited.": "{name} hat sich beendet.",
    "{n} worker": "{n} Worker",
    "{n} workers": "{n} Worker",
    "{host} rejects your key.": "Dein Schlüssel wird abgelehnt.",
}


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    yield
    l10n.use("")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "de.json").write_text(json.dumps(GERMAN), "utf-8")
    return tmp_path


def test_text_stays_english_without_a_catalogue(folder: Path) -> None:
    for language in ("", "C", "C.UTF-8", "POSIX", "en", "en_US.UTF-8", "fr", "../de", "de/../de"):
        l10n.use(language, folder)
        assert t("No worker is paused.") == "No worker is paused."


@pytest.mark.parametrize("language", ["de", "de-AT", "de_DE.UTF-8", "de_DE@euro", "DE"])
def test_text_is_translated_into_the_language_or_its_main_variant(
    folder: Path, language: str
) -> None:
    l10n.use(language, folder)
    assert t("No worker is paused.") == "Kein Worker ist angehalten."
    assert t("{name} exited.", name="policy-0") == "policy-0 hat sich beendet."
    assert t("Text of a newer version.") == "Text of a newer version."


def test_catalogue_of_the_region_comes_before_the_catalogue_of_the_language(folder: Path) -> None:
    (folder / "de-at.json").write_text(json.dumps({"Saturday": "Sonnabend"}))
    l10n.use("de_AT", folder)
    assert t("Saturday") == "Sonnabend"


def test_values_are_inserted_as_they_are() -> None:
    assert t("{a} and {b}", a="{b}", b="x") == "{b} and x"
    assert t("List {path}: {workers: [0]}", path="a") == "List a: {workers: [0]}"
    assert t("{missing} stays", other=1) == "{missing} stays"


def test_number_chooses_the_text(folder: Path) -> None:
    assert [counted(n, "{n} worker", "{n} workers") for n in (0, 1, 2)] == [
        "0 workers",
        "1 worker",
        "2 workers",
    ]
    l10n.use("de", folder)
    assert counted(2, "{n} worker", "{n} workers") == "2 Worker"


def test_translation_that_lost_a_placeholder_is_not_used(folder: Path) -> None:
    l10n.use("de", folder)
    assert t("{host} rejects your key.", host="login") == "login rejects your key."


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', "\ud800"])
def test_broken_catalogue_is_logged_and_leaves_texts_english(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "de.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    with caplog.at_level(logging.WARNING):
        l10n.use("de", tmp_path)
    assert t("a") == "a"
    assert len(caplog.records) == (0 if content == '{"a": 1}' else 1)


def test_first_variable_that_is_set_chooses_the_language() -> None:
    environ = {"LANG": "de_DE.UTF-8", "LC_MESSAGES": "fr_FR", "LC_ALL": ""}
    assert l10n.language_of(environ) == "fr_FR"
    assert l10n.language_of({**environ, "LC_ALL": "it"}) == "it"
    assert l10n.language_of({**environ, "EAGLERAY_LANGUAGE": "ja"}) == "ja"
    assert l10n.language_of({}) == ""


def test_started_process_gets_the_language_of_the_editor(folder: Path) -> None:
    assert l10n.environment({"HOME": "/h"}) == {"HOME": "/h"}
    l10n.use("de", folder)
    assert l10n.language_of(l10n.environment({"LANG": "en_US.UTF-8"})) == "de"
