"""Files that torch.save didn't write are named, before any Python is started for them."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.batches import batches
from eagleray.rollouts.file_kind import file_kind


def zipped(name: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, b"content")
    return out.getvalue()


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
KINDS = [
    (b"PAR1\x15\x04\x15", "a Parquet file"),
    (b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'}", "a NumPy array"),
    (zipped("arr_0.npy"), "NumPy arrays (.npz)"),
    (zipped("readme.md"), "a zip archive"),
    (b"<!DOCTYPE html>\n<html><head>", "an HTML page"),
    (b"\n  <html lang='en'>", "an HTML page"),
    (LFS, "a git-lfs pointer: `git lfs pull` downloads the file"),
    (b'{"prompt": "a", "reward": 1}\n', "JSON"),
    (b"step loss\n1 0.5\n", "a text"),
    (b"import torch\nimport os\nprint(1)\n", "a text"),
    ("über größer".encode() * 2000, "a text"),
    (b"\x1f\x8b\x08\x00", "a gzip file"),
    (b"\x28\x01\0\0\0\0\0\0" + b'{"weight": {"dtype": "F32"}}', "a safetensors file"),
    (b"", "an empty file"),
]
MAYBE = [
    *(pickle.dumps({"a": [1, "b" * 9000], "c": 2.5}, protocol) for protocol in range(6)),
    pickle.dumps(3, 0),
    zipped("batch/data.pkl"),
    b"\x80\x04cut",
    bytes(300),
]


@pytest.mark.parametrize(("content", "kind"), KINDS, ids=[kind for _, kind in KINDS])
async def test_other_file_is_named(tmp_path: Path, content: bytes, kind: str) -> None:
    (tmp_path / "batch.pt").write_bytes(content)
    with pytest.raises(EaglerayError) as error:
        await batches.summary(str(tmp_path / "batch.pt"), "/nowhere/python")
    assert error.value.code == "not-a-batch"
    assert error.value.message == f"{tmp_path / 'batch.pt'} is {kind}."


@pytest.mark.parametrize("content", MAYBE)
def test_pickles_are_not_called_texts(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "batch.pt").write_bytes(content)
    assert file_kind(tmp_path / "batch.pt") == ""
