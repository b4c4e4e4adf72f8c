"""The output of a SLURM job: its files by their patterns, read here, on the login node, or on the nodes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.doctor.logs import slurm_output
from eagleray.doctor.logs.slurm_output import _copied
from eagleray.slurm.job_output import output_globs

from tests.doctor.fake_slurm import FakeSite, NoNodes, diagnosed

FILES = "2026-11-21 01:25:07 E\nOSError: [Errno 24] Too many open files: 'x'\n"
JOB = {
    "JobId": "12",
    "JobName": "my run",
    "UserId": "alice(1001)",
    "WorkDir": "/home/alice",
    "ArrayJobId": "9",
    "ArrayTaskId": "3",
}


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("/home/alice/slurm-12.out", "/home/alice/slurm-12.out"),
        ("/logs/%j.out", "/logs/12.out"),
        ("/logs/%6j.out", "/logs/000012.out"),
        ("/logs/%x-%A_%a-%u.out", "/logs/my run-9_3-alice.out"),
        ("/logs/%j-%t.out", "/logs/12-*.out"),
        ("/logs/%N/%n.%s.out", "/logs/*/*.*.out"),
        ("/logs/%J.out", "/logs/12*.out"),
        ("/logs/100%%.out", "/logs/100%.out"),
        ("logs/%j.out", "/home/alice/logs/12.out"),
        ("/logs/[a]*%t", "/logs/[[]a][*]*"),
        ("/dev/null", None),
        ("", None),
    ],
)
def test_conversions_of_a_file_name_are_resolved(written: str, made: str | None) -> None:
    assert output_globs({**JOB, "StdOut": written, "StdErr": written}) == ([made] if made else [])


def test_files_of_steps_are_read_from_the_script() -> None:
    script = (
        "#!/bin/bash\n#SBATCH --output=x.out\n"
        "srun --ntasks=4 \\\n  --output=logs/rank-%t.out -e '${SLURM_SUBMIT_DIR}/e-$SLURM_JOB_ID.%t' "
        "python train.py -o model.pt\n"
        "  /usr/bin/srun -o $LOGS/%t.out --error $(date).err hostname # --error=no\n"
        "echo srun --output=no\nsrun 'open quote\n"
    )

    assert output_globs(JOB, script) == [
        "/home/alice/logs/rank-*.out",
        "/home/alice/e-12.*",
        "/home/alice/model.pt",
    ]


@pytest.fixture
def output(tmp_path: Path) -> str:
    (tmp_path / "rank-0.out").write_text("step 1\n")
    (tmp_path / "rank-1.out").write_text(FILES)
    return f"{tmp_path}/rank-%t.out"


async def test_output_on_this_machine_is_read_where_it_is(tmp_path: Path, output: str) -> None:
    site = FakeSite(output, tmp=str(tmp_path))

    found = await diagnosed(site, tmp_path / "copies", "12", NoNodes())

    assert [cause.id for cause in found.causes] == ["ulimit-nofile"]
    assert found.causes[0].evidence[0].path == str(tmp_path / "rank-1.out")
    assert found.checked.files == 2
    assert not (tmp_path / "copies").exists()


async def test_output_on_a_login_node_is_copied(tmp_path: Path, output: str) -> None:
    site = FakeSite(output, tmp=str(tmp_path))

    found = await diagnosed(site, tmp_path / "copies", "ssh://login/slurm://12", NoNodes())

    (evidence,) = found.causes[0].evidence
    assert Path(evidence.path).read_text() == FILES
    assert (tmp_path / "copies") in Path(evidence.path).parents
    assert evidence.line == 2
    # The one step reads the logs of Ray.
    assert len([command for command in site.commands if "srun" in command]) == 1


async def test_output_that_only_nodes_see_is_read_by_a_step(tmp_path: Path, output: str) -> None:
    site = FakeSite(output, login_sees_files=False, tmp=str(tmp_path))

    found = await diagnosed(site, tmp_path / "copies", "ssh://login/slurm://12", NoNodes())

    assert [cause.id for cause in found.causes] == ["ulimit-nofile"]
    assert "--jobid=12" in site.commands[-1]


async def test_job_that_has_ended_is_diagnosed_by_its_output(tmp_path: Path, output: str) -> None:
    over = EaglerayError("job-over", "Job 12 is over.", "")

    found = await diagnosed(FakeSite(output, "FAILED"), tmp_path / "copies", "12", NoNodes(over))

    assert [cause.id for cause in found.causes] == ["ulimit-nofile"]
    assert [item.reason for item in found.checked.unchecked] == ["Job 12 is over."]


async def test_job_without_output_and_nodes_is_an_error(tmp_path: Path) -> None:
    over = EaglerayError("job-over", "Job 12 is over.", "")
    for job in ("12", "13"):
        with pytest.raises(EaglerayError, match="is over"):
            await diagnosed(FakeSite("/no/%t", "FAILED"), tmp_path, job, NoNodes(over))


async def test_missing_output_is_listed_with_the_results_of_nodes(tmp_path: Path) -> None:
    found = await diagnosed(FakeSite("/no/%t", "PENDING"), tmp_path, "12", NoNodes())

    assert [(item.path, item.reason) for item in found.checked.unchecked] == [
        ("/no/*", "no such file")
    ]
    assert found.checked.files == 0


@pytest.mark.parametrize("login_sees_files", [True, False])
async def test_cause_at_the_end_of_a_large_output_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, login_sees_files: bool
) -> None:
    monkeypatch.setattr(slurm_output, "_MOST_DATA", 2 * 2**20)
    log = tmp_path / "rank-0.out"
    # Half of it is left by compression.
    lines = b"".join(b"step %s\n" % os.urandom(40).hex().encode() for _ in range(100_000))
    log.write_bytes(lines + FILES.encode())
    (tmp_path / "rank-1.out").write_text("step 1\n")
    site = FakeSite(str(log), login_sees_files=login_sees_files, tmp=str(tmp_path))

    found = await diagnosed(site, tmp_path / "copies", "ssh://site/slurm://12", NoNodes())

    (evidence,) = found.causes[0].evidence
    end = Path(evidence.path)
    assert (found.causes[0].id, end.name) == ("ulimit-nofile", "rank-0.out.end")
    assert log.read_bytes().endswith(b"\n" + end.read_bytes())
    beginning = end.with_name("rank-0.out").read_bytes()
    assert log.read_bytes().startswith(beginning)
    assert 2 * len(beginning) < end.stat().st_size
    (item,) = found.checked.unchecked
    assert item.reason.startswith("what is between its first")


def test_answers_without_room_for_an_end_are_cut(tmp_path: Path) -> None:
    rows = [{"host": "n1", "path": "/a", "size": 9, "data": "eJwDAAAAAAE="}]

    for end in ("", "not base64", "eJwDAAAAAAE="):
        found = _copied([{**rows[0], "end": end}], tmp_path)
        assert [item.reason for item in found.unchecked] == ["only its beginning"]
        assert list(found.paths[0].rglob("*.end")) == []


def test_answer_leads_out_of_no_folder(tmp_path: Path) -> None:
    rows = [
        {"host": host, "path": path, "data": "eJwDAAAAAAE="}
        for host, path in (
            ("n1", "/a/../../evil"),
            ("..", "/evil"),
            ("n1", "evil"),
            ("n/1", "/evil"),
        )
    ]

    found = _copied([*rows, None, [], {"host": 1}], tmp_path / "copies")

    assert (found.paths, found.unchecked) == ((), ())
    assert list(tmp_path.rglob("*evil*")) == []


def test_damaged_answer_is_listed(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"host": "n1", "path": "/a", "data": "not base64"},
        {"host": "n1", "path": "/b", "error": "Permission denied"},
    ]

    found = _copied(json.loads(json.dumps(rows)), tmp_path)

    assert [(item.path, item.reason) for item in found.unchecked] == [
        ("n1:/a", "no answer"),
        ("n1:/b", "Permission denied"),
    ]
