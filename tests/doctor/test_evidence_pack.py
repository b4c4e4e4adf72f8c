"""The small Markdown text with the causes and the lines around them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eagleray.common.token_limit import TOKEN, cut_markdown
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.evidence_pack import pack
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.rule_files import own_rules

from tests.doctor.blind.log_scores import LOGS, NEWER_LOGS

ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
SECRET = "hf_" + "a1B2" * 9


def diagnosis_of(folder: Path, *lines: str) -> Diagnosis:
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    files, unchecked = list_logs([folder])
    return diagnose(files, own_rules(), unchecked)


def test_lines_around_the_cause_are_in_it_with_their_numbers(tmp_path: Path) -> None:
    before = [f"step {n}" for n in range(40_000)]
    text = pack(diagnosis_of(tmp_path, *before, "Traceback:", ERROR, "bye"), 2000)
    assert f"### {tmp_path}/train.log:40002" in text
    assert f"  40001 Traceback:\n> 40002 {ERROR}\n  40003 bye\n```" in text
    assert "  39972 step 39971\n" in text
    assert "step 39970\n" not in text


def test_colours_are_not_in_it(tmp_path: Path) -> None:
    text = pack(diagnosis_of(tmp_path, "\x1b[36m(Actor pid=7)\x1b[0m loaded", ERROR), 2000)
    assert "  1 (Actor pid=7) loaded\n" in text


def test_private_key_above_the_cause_leaves_the_lines_their_numbers(tmp_path: Path) -> None:
    key = [
        "-----BEGIN PRIVATE KEY-----",
        *["(head, rank=0, pid=7) MIIEvQ"] * 4,
        "-----END PRIVATE KEY-----",
    ]
    text = pack(diagnosis_of(tmp_path, *key, ERROR), 2000)
    assert f"> 7 {ERROR}\n" in text
    assert "MIIEvQ" not in text


@pytest.mark.parametrize("tokens", [200, 500, 2000])
def test_it_has_at_most_its_tokens_and_whole_blocks(tmp_path: Path, tokens: int) -> None:
    lines = [f"ValueError: bad value {n} ``` {'x' * 700}" for n in range(200)]
    text = pack(diagnosis_of(tmp_path, *lines, ERROR, *lines), tokens)
    assert len(text) <= tokens * TOKEN * 1.1
    fences = [line for line in text.splitlines() if line.startswith("```")]
    assert len(fences) % 2 == 0


def test_no_secret_is_in_it_also_where_a_long_line_is_cut(tmp_path: Path) -> None:
    key = [
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
        "-----END PRIVATE KEY-----",
    ]
    cut = "x" * 280 + f" HF_TOKEN={SECRET}"
    text = pack(
        diagnosis_of(tmp_path, f"HF_TOKEN={SECRET}", cut, *key, ERROR, f"Bearer {SECRET}"), 2000
    )
    assert SECRET[:12] not in text
    assert key[1] not in text


def test_file_that_has_gone_leaves_the_causes(tmp_path: Path) -> None:
    diagnosis = diagnosis_of(tmp_path, ERROR)
    (tmp_path / "train.log").unlink()
    text = pack(diagnosis, 2000)
    assert "A GPU ran out of memory: 2.00 GiB needed." in text
    assert "###" not in text


def test_cut_markdown_ends_its_block() -> None:
    text = "head\n\n```text\n" + "a line of a stack\n" * 200 + "```\n"
    assert cut_markdown(text, 200).endswith("```\n")
    assert cut_markdown("short\n", 200) == "short\n"


def test_cause_of_blind_logs_is_in_it_and_no_planted_secret(tmp_path: Path) -> None:
    """Logs that the rules were not written from, among lines of a run, with a key beside each of their lines."""
    rows = [row for logs in (LOGS, NEWER_LOGS) for row in json.loads(logs.read_text("utf-8"))]
    missing = []
    for number, row in enumerate(rows):
        folder = tmp_path / str(number)
        folder.mkdir()
        around = [f"INFO step {n} loss 0.1" for n in range(500)]
        planted = [part for line in row["lines"] for part in (f"HF_TOKEN={SECRET}", line)]
        text = pack(diagnosis_of(folder, *around, *planted), 2000, [folder / "train.log"])
        assert SECRET not in text
        if row["cause"] not in text:
            missing.append(row["source"])
    assert len(rows) == 36
    assert len(missing) <= 2, missing
