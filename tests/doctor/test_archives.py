"""Logs in archives, compressed, in UTF-16 or from a pipe are read, and a diagnosis says when nothing could be read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from eagleray.cli.main import main

FILES = "2026-11-21 01:25:07 E\nOSError: [Errno 24] Too many open files: 'x'\n"


def in_tar(content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in ("node-1/worker.err", "node-1/weights.pt"):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def in_zip(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../../worker.err", content)
    return packed.getvalue()


def in_utf_16(content: bytes) -> bytes:
    return content.decode().encode("utf-16")


FORMS = {
    "a.log.gz": gzip.compress,
    "a.log.bz2": bz2.compress,
    "a.log.xz": lzma.compress,
    "logs.tgz": in_tar,
    "logs.zip": in_zip,
    "a.log": in_utf_16,
}


@pytest.mark.parametrize("name", FORMS)
def test_text_of_a_packed_log_is_read(
    name: str, own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack: Callable[[bytes], bytes] = FORMS[name]
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / name).write_bytes(pack(FILES.encode()))
    # The folder as well as the file.
    for path in (tmp_path / "job", tmp_path / "job" / name):
        assert main(["doctor", str(path), "--exit-code"]) == 3
        printed = capsys.readouterr().out
        assert printed.startswith("A process ran out of file descriptors")
        assert "Checked 1 file." in printed
    copies = [
        path for path in own_home.rglob("*") if path.is_file() and "doctor-logs" in path.parts
    ]
    assert {path.read_text() for path in copies} == {FILES}
    assert {path.stat().st_mode & 0o077 for folder in copies for path in folder.parents[:2]} == {0}


def test_standard_input_is_read(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for content in (FILES.encode(), gzip.compress(FILES.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert main(["doctor", "-"]) == 0
        assert capsys.readouterr().out.startswith("A process ran out of file descriptors")


def test_unreadable_file_does_not_give_an_all_clear(
    own_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(FILES.encode())[:20])
    (tmp_path / "b.log.zst").write_bytes(b"(\xb5/\xfd and what follows")

    assert main(["doctor", str(tmp_path)]) == 0

    printed = capsys.readouterr().out
    assert printed.startswith("No file could be read, so nothing is known of errors.")
    assert "a.log.gz (damaged)" in printed and "b.log.zst (compressed)" in printed
