"""The registries of extensions take our package: `vsce package` without a warning, and `ovsx publish`, to a registry of
our own.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

# On two busy cores vsce packs for more than a minute.
pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
TARGETS = ("linux-x64", "linux-arm64")
REPOSITORY = "https://git.example.org/team/eagleray"


def manifest_in(vsix: Path | bytes) -> dict[str, Any]:
    file = io.BytesIO(vsix) if isinstance(vsix, bytes) else vsix
    with zipfile.ZipFile(file) as archive:
        manifest: dict[str, Any] = json.loads(archive.read("extension/package.json"))
        return manifest


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file for this machine as it is packed once a repository is set; a warning of vsce would be an error."""
    folder = tmp_path_factory.mktemp("published")
    done = subprocess.run(
        ["node", "scripts/package.mjs", "--target", "linux-x64", "--out", str(folder)],
        cwd=ROOT,
        env=os.environ | {"EAGLERAY_REPOSITORY": REPOSITORY},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARN" not in done.stdout + done.stderr
    (file,) = folder.glob("*.vsix")
    return file


def test_repository_fills_manifest_and_links_of_readme(published: Path) -> None:
    manifest = manifest_in(published)
    assert manifest["repository"] == {"type": "git", "url": f"{REPOSITORY}.git"}
    assert manifest["bugs"] == {"url": f"{REPOSITORY}/issues"}
    assert manifest["homepage"] == f"{REPOSITORY}#readme"
    with zipfile.ZipFile(published) as archive:
        readme = archive.read("extension/readme.md").decode()
    assert f"]({REPOSITORY}/raw/HEAD/media/walkthrough/profile.png" in readme
    assert f"]({REPOSITORY}/blob/HEAD/docs/runs.md" in readme
    assert "](docs/" not in readme
    assert "](media/" not in readme


@pytest.mark.parametrize("target", TARGETS)
def test_package_without_repository_has_no_broken_picture(
    vsix_files: dict[str, Path], target: str
) -> None:
    manifest = manifest_in(vsix_files[target])
    assert not manifest.keys() & {"repository", "bugs", "homepage", "private"}
    with zipfile.ZipFile(vsix_files[target]) as archive:
        names = archive.namelist()
        readme = archive.read("extension/readme.md").decode()
    assert "](media/" not in readme
    assert not [name for name in names if "/media/readme" in name]
    for shown in (manifest["icon"], "media/eagleray.ttf", "media/walkthrough/ranks.png"):
        assert f"extension/{shown}" in names


class Registry(BaseHTTPRequestHandler):
    """Answers `ovsx` as open-vsx.org does, and keeps what it uploads."""

    uploads: list[bytes]

    def do_GET(self) -> None:
        self.answer({"success": "Valid token"})

    def do_POST(self) -> None:
        body = b"".join(self.chunks())
        self.uploads.append(body)
        manifest = manifest_in(body)
        self.answer(
            {
                "namespace": manifest["publisher"],
                "name": manifest["name"],
                "version": manifest["version"],
                "targetPlatform": "linux-x64",
            },
            201,
        )

    def chunks(self) -> Iterator[bytes]:
        assert self.headers["Transfer-Encoding"] == "chunked"
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def answer(self, value: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a registry, and what was uploaded to it."""
    uploads: list[bytes] = []
    handler = type("Kept", (Registry,), {"uploads": uploads})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", uploads
        server.shutdown()
        thread.join()


def ovsx(registry: str, *args: str) -> str:
    environment = os.environ | {"OVSX_REGISTRY_URL": registry, "OVSX_PAT": "token"}
    done = subprocess.run(
        [ROOT / "node_modules/.bin/ovsx", *args],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    assert "warn" not in printed.lower()
    return printed


def test_ovsx_publishes_the_package_without_a_warning(
    published: Path, registry: tuple[str, list[bytes]]
) -> None:
    address, uploads = registry
    ovsx(address, "verify-pat", "eagleray")
    printed = ovsx(address, "publish", str(published))
    version = json.loads((ROOT / "package.json").read_text())["version"]
    assert f"Published eagleray.eagleray v{version}" in printed
    assert uploads == [published.read_bytes()]
