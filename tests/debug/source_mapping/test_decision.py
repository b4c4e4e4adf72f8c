"""The rules that decide which local file a worker's file is, one test per row of the table."""

from collections.abc import Callable
from pathlib import Path

import pytest
from eagleray.debug.source_mapping import local_files
from eagleray.debug.source_mapping.decision import decide
from eagleray.debug.source_mapping.mounts import MountedFile
from eagleray.protocol.adapter_control import PathMapping

PACKAGE = "/tmp/ray/session_1/runtime_resources/working_dir_files/_ray_pkg_0a1b"
MODULES = "/tmp/ray/session_1/runtime_resources/py_modules_files/_ray_pkg_9"

Write = Callable[..., str]


def not_asked() -> str:
    raise AssertionError("The content must not be needed here.")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "my workspace é"
    folder.mkdir()
    return folder


@pytest.fixture
def write(workspace: Path) -> Write:
    def make(name: str, text: str = "pass\n") -> str:
        file = workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return str(file)

    return make


def test_same_path_is_chosen_if_the_file_exists(workspace: Path, write: Write) -> None:
    path = write("a.py")
    decision = decide(path, [], [str(workspace)], not_asked)
    assert (decision.how, decision.local, decision.mapping) == ("same-path", path, None)


def test_same_path_without_a_workspace(write: Write) -> None:
    path = write("a.py")
    assert decide(path, [], [], not_asked).how == "same-path"


def test_same_path_is_named_as_in_the_workspace(
    workspace: Path, tmp_path: Path, write: Write
) -> None:
    path = write("pkg/a.py")
    link = tmp_path / "home"
    link.symlink_to(workspace)
    decision = decide(path, [], [str(link)], not_asked)
    assert decision.local == f"{link}/pkg/a.py"
    assert decision.mapping == PathMapping(str(workspace), str(link))


def test_setting_precedes_same_path(workspace: Path, write: Write, tmp_path: Path) -> None:
    path = write("a.py")
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.py").touch()
    mapping = PathMapping(str(workspace), str(other))
    decision = decide(path, [mapping], [str(workspace)], not_asked)
    assert (decision.how, decision.local) == ("setting", f"{other}/a.py")


def test_longest_mapping_with_a_file_wins(workspace: Path, write: Write) -> None:
    write("deep/a.py")
    mappings = [
        PathMapping("/app", str(workspace / "wide")),
        PathMapping("/app/x", str(workspace / "deep")),
        PathMapping("/app/x/y", str(workspace / "gone")),
    ]
    assert decide("/app/x/a.py", mappings, [], not_asked).local == f"{workspace}/deep/a.py"


def test_mapping_never_leads_out_of_its_folder(workspace: Path, write: Write) -> None:
    write("secret.py")
    mapping = PathMapping("/app", str(workspace / "sub"))
    assert decide("/app/../secret.py", [mapping], [], not_asked).local == ""


def test_stored_answer_about_a_package_holds_for_the_next_upload(
    workspace: Path, write: Write
) -> None:
    local = write("src/a.py")
    mapping = PathMapping(PACKAGE, str(workspace / "src"))
    newer = PACKAGE.replace("0a1b", "77")
    decision = decide(f"{newer}/a.py", [mapping], [], not_asked)
    assert (decision.how, decision.local) == ("setting", local)
    assert decision.mapping == PathMapping(newer, str(workspace / "src"))


def test_mounts_come_after_setting_and_before_same_path(
    workspace: Path, write: Write, tmp_path: Path
) -> None:
    path, mounted = write("a.py", "of the image\n"), write("code/a.py", "mounted\n")
    fit = MountedFile(mounted, PathMapping(str(workspace), f"{workspace}/code"))

    def remote() -> str:
        return local_files.sha256(mounted)

    decision = decide(path, [], [str(workspace)], remote, [fit])
    assert (decision.how, decision.local, decision.mapping) == ("mounts", mounted, fit.mapping)
    said = PathMapping(str(workspace), str(workspace))
    assert decide(path, [said], [], not_asked, [fit]).how == "setting"


def test_mounted_file_is_named_as_in_the_workspace(
    workspace: Path, write: Write, tmp_path: Path
) -> None:
    mounted = write("pkg/a.py")
    link = tmp_path / "home"
    link.symlink_to(workspace)
    fit = MountedFile(mounted, PathMapping("/workspace", str(workspace)))
    decision = decide(
        "/workspace/pkg/a.py", [], [str(link)], lambda: local_files.sha256(mounted), [fit]
    )
    assert decision.local == f"{link}/pkg/a.py"
    assert decision.mapping == PathMapping("/workspace", str(link))


def test_mount_chooses_no_file_of_another_content(workspace: Path, write: Write) -> None:
    fits = [
        MountedFile(write("secret.py"), PathMapping("/w", "/")),
        MountedFile("/nowhere", PathMapping("/w", "/")),
    ]
    for remote_hash in ("another", ""):
        assert decide("/w/secret.py", [], [], lambda h=remote_hash: h, fits).local == ""


def test_copy_of_a_package_is_not_searched_in_mounts(workspace: Path, write: Write) -> None:
    local = write("train.py")
    fit = MountedFile(write("copy/train.py"), PathMapping(PACKAGE, f"{workspace}/copy"))
    decision = decide(f"{PACKAGE}/train.py", [], [str(workspace)], not_asked, [fit])
    assert (decision.how, decision.local) == ("working-dir", local)


def test_working_dir(workspace: Path, write: Write) -> None:
    local = write("train.py")
    write("old/train.py")
    decision = decide(f"{PACKAGE}/train.py", [], [str(workspace)], not_asked)
    assert (decision.how, decision.local) == ("working-dir", local)
    assert decision.mapping == PathMapping(PACKAGE, str(workspace))


def test_working_dir_that_is_a_folder_of_the_workspace(workspace: Path, write: Write) -> None:
    local = write("examples/ppo/train.py")
    decision = decide(f"{PACKAGE}/train.py", [], [str(workspace)], not_asked)
    assert (decision.how, decision.local) == ("working-dir", local)
    assert decision.mapping == PathMapping(PACKAGE, str(workspace / "examples/ppo"))


def test_py_modules(workspace: Path, write: Write) -> None:
    local = write("src/verl/a.py")
    write("other/a.py")
    decision = decide(f"{MODULES}/verl/a.py", [], [str(workspace)], not_asked)
    assert (decision.how, decision.local) == ("working-dir", local)
    assert decision.mapping == PathMapping(MODULES, str(workspace / "src"))


def test_content_decides_between_several_fitting_files(workspace: Path, write: Write) -> None:
    write("a/train.py", "one")
    local = write("b/train.py", "two")
    decision = decide(
        f"{PACKAGE}/train.py", [], [str(workspace)], lambda: local_files.sha256(local)
    )
    assert (decision.how, decision.local) == ("working-dir", local)


def test_longest_suffix(workspace: Path, write: Write) -> None:
    local = write("verl/trainer/main.py")
    write("verl/other/main.py")
    decision = decide("/root/verl/trainer/main.py", [], [str(workspace)], not_asked)
    assert (decision.how, decision.local) == ("suffix", local)
    assert decision.mapping == PathMapping("/root", str(workspace))


def test_equally_long_suffixes_lead_to_a_question(workspace: Path, write: Write) -> None:
    files = [write("v1/verl/main.py", "1"), write("v2/verl/main.py", "2")]
    decision = decide("/root/verl/main.py", [], [str(workspace)], lambda: "unlike both")
    assert decision.how == "ask"
    assert list(decision.candidates) == files


def test_file_that_fits_by_name_only_must_have_the_same_content(
    workspace: Path, write: Write
) -> None:
    local = write("utils.py", "mine")
    folders = [str(workspace)]
    same = decide("/app/utils.py", [], folders, lambda: local_files.sha256(local))
    assert (same.how, same.local) == ("suffix", local)
    assert decide("/app/utils.py", [], folders, lambda: "another").how == "ask"


@pytest.mark.parametrize(
    "path",
    ["/env/lib/python3.11/site-packages/torch/utils.py", "<string>", "/x/<frozen y>", "/a\0/b.py"],
)
def test_installed_and_generated_code_leads_to_no_question(
    workspace: Path, write: Write, path: str
) -> None:
    write("torch/utils.py")
    assert decide(path, [], [str(workspace)], not_asked).how == "none"


def test_missing_file_leads_to_a_question_only_with_a_workspace(workspace: Path) -> None:
    assert decide("/app/a.py", [], [str(workspace)], not_asked).how == "ask"
    assert decide("/app/a.py", [], [], not_asked).how == "none"


def test_copy_of_a_package_is_its_own_local_file(tmp_path: Path, workspace: Path) -> None:
    copy = tmp_path / "runtime_resources/working_dir_files/_ray_pkg_1/train.py"
    copy.parent.mkdir(parents=True)
    copy.touch()
    decision = decide(str(copy), [], [str(workspace)], not_asked)
    assert (decision.how, decision.local) == ("none", str(copy))


def test_folders_without_user_code_are_skipped(workspace: Path, write: Write) -> None:
    local = write("verl/a.py")
    for where in ("node_modules", ".hidden", "__pycache__"):
        write(f"{where}/verl/a.py")
    write("env/pyvenv.cfg")
    write("env/lib/verl/a.py")
    folders = [str(workspace), str(workspace / "verl")]
    assert decide("/x/verl/a.py", [], folders, not_asked).local == local
