"""Paths of a worker against paths of this machine, as tables and laws."""

import pytest
from eagleray.debug.source_mapping import worker_paths
from eagleray.protocol.adapter_control import PathMapping
from hypothesis import given
from hypothesis import strategies as st

RESOURCES = "/tmp/ray/session_2026-01-01_1_2/runtime_resources"
WORKING_DIR = f"{RESOURCES}/working_dir_files/_ray_pkg_0a1b"
MODULES = f"{RESOURCES}/py_modules_files/_ray_pkg_77"


@pytest.mark.parametrize(
    ("path", "root"),
    [
        (f"{WORKING_DIR}/pkg/a.py", WORKING_DIR),
        (WORKING_DIR, WORKING_DIR),
        (f"{MODULES}/mod/a.py", MODULES),
        ("/home/me/pkg/a.py", ""),
        ("/home/me/_ray_pkg_0a1b/a.py", ""),
        ("<string>", ""),
    ],
)
def test_package_root_is_the_folder_of_the_upload(path: str, root: str) -> None:
    assert worker_paths.package_root(path) == root


@pytest.mark.parametrize(
    ("mapping", "path", "local"),
    [
        (PathMapping("/app", "/home/me/app"), "/app/x/a.py", "/home/me/app/x/a.py"),
        (PathMapping("/app/", "/home/me/app/"), "/app/x/a.py", "/home/me/app/x/a.py"),
        (PathMapping("/app", "/home/me/app"), "/application/a.py", ""),
        (PathMapping("/app/a.py", "/w/a.py"), "/app/a.py", "/w/a.py"),
        (PathMapping("/", "/mnt"), "/a.py", "/mnt/a.py"),
        (
            PathMapping(WORKING_DIR, "/w"),
            f"{WORKING_DIR.replace('0a1b', 'ffff')}/p/a.py",
            "/w/p/a.py",
        ),
        (
            PathMapping(f"{WORKING_DIR}/p", "/w"),
            f"{WORKING_DIR.replace('0a1b', 'f')}/p/a.py",
            "/w/a.py",
        ),
        (PathMapping(WORKING_DIR, "/w"), f"{MODULES}/p/a.py", ""),
    ],
)
def test_mapping_applies_to_whole_names_only(mapping: PathMapping, path: str, local: str) -> None:
    assert worker_paths.apply(mapping, path) == local


@pytest.mark.parametrize(
    ("remote", "local", "folders", "mapping"),
    [
        ("/app/x/a.py", "/home/me/w/x/a.py", ["/home/me/w"], PathMapping("/app", "/home/me/w")),
        ("/root/w/x/a.py", "/me/w/x/a.py", ["/me/w"], PathMapping("/root/w", "/me/w")),
        ("/root/w/x/a.py", "/me/w/x/a.py", [], PathMapping("/root", "/me")),
        ("/x/a.py", "/me/x/a.py", [], PathMapping("/x", "/me/x")),
        (f"{WORKING_DIR}/x/a.py", "/me/w/x/a.py", ["/me"], PathMapping(WORKING_DIR, "/me/w")),
        ("/app/b.py", "/w/a.py", ["/w"], PathMapping("/app/b.py", "/w/a.py")),
    ],
)
def test_mapping_is_as_wide_as_the_workspace_allows(
    remote: str, local: str, folders: list[str], mapping: PathMapping
) -> None:
    assert worker_paths.mapping_between(remote, local, folders) == mapping


NAMES = st.lists(st.sampled_from(["a", "b", "c d", "é", "src"]), min_size=1, max_size=5)


@given(NAMES, NAMES, NAMES)
def test_mapping_between_two_files_leads_from_one_to_the_other(
    remote: list[str], workspace: list[str], common: list[str]
) -> None:
    remote_path = "/" + "/".join([*remote, *common, "x.py"])
    folder = "/" + "/".join(workspace)
    local = "/".join([folder, *common, "x.py"])
    mapping = worker_paths.mapping_between(remote_path, local, [folder])
    assert worker_paths.apply(mapping, remote_path) == local
    assert worker_paths.below(mapping.local, folder)


@pytest.mark.parametrize(
    "path", ["<string>", "/a/<frozen x>", "/a/../b.py", "/a\0b.py", "rel.py", ""]
)
def test_generated_names_are_not_files(path: str) -> None:
    assert not worker_paths.is_file_name(path)


def test_installed_libraries_are_recognised() -> None:
    assert worker_paths.is_installed("/opt/env/lib/python3.11/site-packages/verl/a.py")
    assert worker_paths.is_installed("/usr/lib/python3.11/threading.py")
    assert not worker_paths.is_installed("/home/me/python/a.py")
