"""The code that runs inside a run: one package under an unmistakable name, as a folder or as a zip."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

from attrs import frozen

from eagleray.common.paths import injected
from eagleray.remote_scripts import package_copies

SOURCE = Path(__file__).resolve().parents[1] / "injected"
# What lies in it is found by every Python whose path has the folder: `sitecustomize`.
SITE = "site"
NAME = "_eagleray_run_"
_EPOCH = (1980, 1, 1, 0, 0, 0)


@frozen
class Package:
    """`name` bears a hash of all files; `files` are their texts by their path within the package."""

    name: str
    files: dict[str, bytes]


def package(
    source: Path = SOURCE, prefix: str = NAME, patterns: tuple[str, ...] = ("*.py",)
) -> Package:
    """The package as it is now."""
    found = (path for pattern in patterns for path in source.rglob(pattern))
    paths = sorted(path for path in found if path.is_file())
    files = {path.relative_to(source).as_posix(): path.read_bytes() for path in paths}
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return Package(f"{prefix}{digest.hexdigest()[:8]}", files)


def delivered(of: Package, into: Path | None = None) -> Path:
    """The folder that holds the package, which is put there unless it is there already."""
    folder = into or injected()

    def fill(made: Path) -> None:
        for name, content in of.files.items():
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    package_copies.deliver(folder, of.name, fill)
    return folder


def zipped(of: Package) -> tuple[str, bytes]:
    """A zip for Ray's package store, with the name that Ray itself would give it; the same bytes every time.

    Its root becomes a folder of the path of workers, so that what lies in `site` stands there a second time.
    """
    files = {f"{of.name}/{name}": content for name, content in of.files.items()}
    files |= {
        name.removeprefix(f"{SITE}/"): content
        for name, content in of.files.items()
        if name.startswith(f"{SITE}/")
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    content = buffer.getvalue()
    digest = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    return f"_ray_pkg_{digest}.zip", content
