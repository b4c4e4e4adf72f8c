"""Tests of exported pages: nothing in them is markup, a script or a connection of others, and no secret is in them."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import stat
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.page import exported_page
from eagleray.page.messages import PageToExport

from tests.asked import eagleray

EVIL = "</script><img src=x onerror=\"document.title='hacked'\"><!--<script>"
TOKEN = "hf_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7"


@pytest.fixture(autouse=True)
def bundles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Scripts and styles in place of built ones."""
    folder = tmp_path / "dist"
    folder.mkdir()
    for name in (*exported_page._PAGES, "exported_page"):
        (folder / f"{name}.js").write_text(f"run('{name}', '</script>', '<!--')")
        (folder / f"{name}.css").write_text(f".{name} {{ color: red }}")
    monkeypatch.setattr(exported_page, "BUNDLES", folder)
    return folder


def exported(
    tmp_path: Path, *messages: object, title: str = "a", page: str = "picture_page"
) -> str:
    file = tmp_path / "page.html"
    text = json.dumps(messages)
    exported_page.export(PageToExport(str(file), page, title, text))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return file.read_text("utf-8")


def data_of(document: str) -> list[dict[str, object]]:
    [text] = re.findall(r'<script type="application/json" id="exported">([^<]*)</script>', document)
    messages: list[dict[str, object]] = json.loads(text)["messages"]
    return messages


def test_texts_of_a_cluster_are_data_and_never_markup(tmp_path: Path) -> None:
    message = {"kind": "picture", "name": EVIL, "path": f"/{EVIL}", "ranks": [[EVIL]]}
    document = exported(tmp_path, message, title=EVIL)
    assert data_of(document) == [message]
    assert "<img" not in document
    assert document.count("<script") == document.count("</script>") == 3
    assert "<!--" not in document
    assert f"<title>{html.escape(EVIL)}</title>" in document


def test_policy_allows_the_scripts_and_the_style_of_the_page_alone(tmp_path: Path) -> None:
    document = exported(tmp_path)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', document)
    scripts = re.findall(r"<script>(.*?)</script>", document, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", document, re.DOTALL)
    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src {' '.join(map(hash_of, scripts))}",
        f"style-src {hash_of(style)}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert [re.findall(r"run\('(\w+)'", script) for script in scripts] == [
        ["exported_page"],
        ["picture_page"],
    ]


def hash_of(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def test_secrets_are_hidden_at_any_depth(tmp_path: Path) -> None:
    document = exported(tmp_path, {"lines": [{"text": f"HF_TOKEN={TOKEN}"}]}, title=TOKEN)
    assert TOKEN not in document
    assert data_of(document) == [{"lines": [{"text": "HF_TOKEN=…"}]}]


def test_file_says_when_and_by_which_version_it_was_made(tmp_path: Path) -> None:
    document = exported(tmp_path)
    assert re.search(
        r"Exported \d{4}-\d\d-\d\d \d\d:\d\d \w+ by Eagleray \d+\.\d+\.\d+\.", document
    )


def test_folder_that_is_gone_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    with pytest.raises(EaglerayError) as raised:
        exported(tmp_path / "gone")
    assert raised.value.code == "page-not-saved"
    assert str(tmp_path / "gone") in raised.value.message


def test_other_files_than_pages_are_not_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a page"):
        exported(tmp_path, page="../../etc/passwd")


@pytest.mark.usefixtures("own_home")
async def test_commands_write_the_pages_of_a_picture_and_of_a_diagnosis(tmp_path: Path) -> None:
    log = tmp_path / "worker.err"
    log.write_text(f"RuntimeError: HF_TOKEN={TOKEN} {EVIL}\n")
    stacks = tmp_path / "stacks.txt"
    stacks.write_text('Thread 1 (idle): "MainThread"\n    step (/a/train.py:7)\n')
    page = tmp_path / "page.html"
    done = await eagleray("doctor", str(log), "--html", str(page))
    assert done.code == 0, done.err
    [message] = data_of(page.read_text("utf-8"))
    assert message["kind"] == "diagnosis"
    assert "RuntimeError" in str(message)
    assert TOKEN not in str(message)
    done = await eagleray("stacks", "--from", str(stacks), "--html", str(page))
    assert done.code == 0, done.err
    [message] = data_of(page.read_text("utf-8"))
    assert (message["kind"], message["canInspect"]) == ("picture", False)
