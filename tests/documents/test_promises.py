"""The promises of README and CONTRIBUTING hold: commands, settings, scripts, files, suites."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eagleray.adapter.sessions.dap_requests import TABLE

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
KEY = re.compile(r"`(Ctrl\+[\w+]+)`")
MANIFEST: dict[str, Any] = json.loads((ROOT / "package.json").read_text())


def test_the_reference_is_the_manifest() -> None:
    done = subprocess.run(
        ["node", "scripts/reference.mjs", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_reference_check_fails_for_a_stale_file(tmp_path: Path) -> None:
    for part in ("scripts", "docs"):
        (tmp_path / part).mkdir()
    for name in ("scripts/reference.mjs", "scripts/paths.mjs", "package.json", "package.nls.json"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    stale = (
        (ROOT / "docs" / "reference.md").read_text().replace("Show Eagleray Log", "Show the Logs")
    )
    (tmp_path / "docs" / "reference.md").write_text(stale)
    done = subprocess.run(
        ["node", "scripts/reference.mjs", "--check"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "npm run reference" in done.stderr


def test_the_keys_are_the_manifest() -> None:
    keys = {binding["key"] for binding in MANIFEST["contributes"]["keybindings"]}
    promised = {key.lower() for text in DOCUMENTS for key in KEY.findall(text.read_text())}
    assert promised and promised <= keys


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_the_npm_scripts_are_there(text: str) -> None:
    named = set(re.findall(r"npm run ([\w-]+)", text))
    assert named
    assert named <= set(MANIFEST["scripts"])


def test_every_npm_script_is_described() -> None:
    named = set(re.findall(r"npm (?:run )?([\w-]+)", CONTRIBUTING))
    assert set(MANIFEST["scripts"]) <= named


def folders_of_sources() -> list[Path]:
    """Where a path in a document may begin."""
    package = ROOT / "pybackend" / "eagleray"
    areas = [folder for folder in package.iterdir() if folder.is_dir()]
    return [ROOT, package, *areas, *(room for area in areas for room in area.iterdir())]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_are_named_exist(document: Path) -> None:
    text = document.read_text()
    links = re.findall(r"\]\(((?!http)[^)#]+)\)", text)
    missing = [link for link in links if not (document.parent / link).exists()]
    named = re.findall(r"`([\w./-]+\.(?:py|ts|mjs|json|md))`", text)
    named += re.findall(r"\b((?:scripts|tests|requirements|media)/[\w./-]+\.\w+)", text)
    missing += [
        name
        for name in named
        if "/" in name
        and not name.startswith("out/")
        and not any((folder / name).exists() for folder in folders_of_sources())
    ]
    assert missing == []


def test_the_terminal_commands_are_there() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    documented = set(re.findall(r"^\| `eagleray (\w+)", text, re.MULTILINE))
    done = subprocess.run(
        [sys.executable, "pybackend/eagleray_start.py", "cli", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    listed = done.stdout.partition("\nShortcuts\n")[0].partition("\nDebug\n")[2]
    there = set(re.findall(r"^  (\w+)  ", listed, re.MULTILINE))
    assert documented == there
    promised = set(re.findall(r"^eagleray (\w+)", README, re.MULTILINE))
    assert promised <= there


def test_the_versions_agree() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{MANIFEST["version"]}"' in pyproject
    assert f"## {MANIFEST['version']}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_readme_is_short() -> None:
    """The registries show it as the page of the extension; everything else is in docs/."""
    assert len(README.encode()) <= 8_000


def test_every_document_is_linked_by_the_readme() -> None:
    linked = {ROOT / path for path in re.findall(r"\]\((docs/[\w-]+\.md)\)", README)}
    own = {ROOT / "docs" / name for name in ("glossary.md",)}
    assert linked == set((ROOT / "docs").glob("*.md")) - own


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_anchors_of_links_exist(document: Path) -> None:
    links = re.findall(r"\]\(((?!http)[^)#]*)#([^)]+)\)", document.read_text())
    targets = [((document.parent / path) if path else document, anchor) for path, anchor in links]
    assert [
        f"{path.name}#{anchor}" for path, anchor in targets if anchor not in anchors(path)
    ] == []


def anchors(document: Path) -> set[str]:
    """The ids that Markdown gives headings."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_pages_about_the_inside_are_linked_by_the_page_of_their_name() -> None:
    for inside in (ROOT / "docs" / "internals").glob("*.md"):
        assert f"](internals/{inside.name})" in (ROOT / "docs" / inside.name).read_text()


def test_pictures_of_the_readme_suit_the_registries() -> None:
    """They show no SVG, and a page is read before its pictures are there."""
    pictures = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", README)
    assert pictures
    for text, path in pictures:
        assert text
        assert path.endswith((".png", ".gif"))
        assert (ROOT / path).stat().st_size < 1_500_000


def test_the_readme_has_the_commands_of_a_checkout() -> None:
    for name in ("setup", "demo", "check", "bench", "package"):
        assert f"\nnpm run {name}" in README


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "\nnpm test" in README
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("npm test")


def test_the_requests_of_dap_clients_are_those_that_are_served() -> None:
    text = (ROOT / "docs" / "dap-clients.md").read_text().split("## Requests\n")[1].split("\n- ")[0]
    own = {"attach", "configurationDone", "disconnect", "initialize", "launch"}
    assert set(re.findall(r"`(\w+)`", text)) == own | TABLE.keys()
