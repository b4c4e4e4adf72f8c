"""Secrets in logs, in the environment and in answers of nodes are in nothing that the doctor shows, prints or sends."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from eagleray.cli.main import main
from eagleray.common.paths import host_name, runs
from eagleray.doctor import texts
from eagleray.doctor.environment_report import report
from eagleray.doctor.messages import DIAGNOSE, FIRST_PROBLEM
from eagleray.doctor.node_checks import NodeFacts, node_diagnosis
from eagleray.runs.model import RunPlan, RunState
from eagleray.runs.records import RunRecords

from tests.asked import ask
from tests.sidecar.stdio_client import sidecar

SECRET = "x9nevershown"
TOKEN = "hf_" + "Qz" * 17
# A part of it is unusable, too.
PART = TOKEN[:12]

KNOWN = f"OSError: [Errno 24] Too many open files: '/x' api_key={SECRET} {TOKEN}"
TRACEBACK = f"""Traceback (most recent call last):
  File "train.py", line 3, in <module>
ValueError: {TOKEN} was rejected, environ had HF_TOKEN={SECRET}
"""
LINES = {
    "line of a known cause": KNOWN,
    "line of an unknown error": f"ERROR main: no login with api_key={SECRET} and {TOKEN}",
    "last line of a traceback": TRACEBACK,
    "quote without an end": f'ERROR main: {{"password": "{SECRET} and more',
    "key of a mapping": f"ERROR main: os.environ['HF_TOKEN']='{SECRET}'",
    "token that is cut at its end": f"ERROR main: TOKEN={'a' * 600} {'x ' * 184}{TOKEN}",
    "token that is cut at its beginning": f"{'x ' * 5000}{TOKEN}{' y' * 2040} Bus error core dumped",
    "group of a rule": f"reward model refused password={SECRET}",
    "name of a worker": f"(Worker-{TOKEN} pid=12, ip=10.0.0.4) ERROR main: it failed",
}


@pytest.fixture
def logs(tmp_path: Path, own_home: Path) -> Path:
    """A folder with a log for each line, and a rule of the user whose group is the secret."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for number, text in enumerate(LINES.values()):
        (folder / f"worker-{number}.err").write_text(text + "\n")
    rule = {
        "id": "reward-refused",
        "pattern": r"reward model refused password=(?P<word>\S{1,40})",
        "meaning": "The reward model refused {word}.",
        "fix": "Send another one than {word}.",
        "why": "Rollouts wait for {word}.",
        "source": "our wiki",
    }
    (own_home / "doctor-rules.json").write_text(json.dumps({"format": 1, "rules": [rule]}))
    return folder


def assert_hidden(text: str) -> None:
    assert [secret for secret in (SECRET, PART, TOKEN[-12:]) if secret in text] == []


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_secrets_of_logs_are_not_printed(
    logs: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert main(["doctor", str(logs), *options, "--exit-code"]) == 3

    printed = capsys.readouterr()
    assert "The reward model refused …." in printed.out
    assert_hidden(printed.out + printed.err)


@pytest.mark.parametrize("what", LINES)
def test_each_log_with_a_secret_is_shown_without_it(
    logs: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    log = logs / f"worker-{list(LINES).index(what)}.err"

    assert main(["doctor", str(log), "--json"]) == 0

    printed = capsys.readouterr().out
    found = json.loads(printed)
    assert len(found["causes"]) + len(found["unknown"]) == 1
    assert_hidden(printed)


def test_secrets_of_the_environment_are_not_printed(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {
        "HF_TOKEN": TOKEN,
        "WANDB_API_KEY": SECRET,
        "http_proxy": f"http://me:{SECRET}@10.0.0.1:8080",
        "no_proxy": f"10.9.9.9,{TOKEN}",
        "NCCL_SOCKET_IFNAME": f"eth77,token={SECRET}",
        "GLOO_SOCKET_IFNAME": TOKEN,
        "RAY_DEBUG": TOKEN,
        "NCCL_DEBUG": f"api_key={SECRET}",
    }.items():
        monkeypatch.setenv(name, value)

    for arguments in (["--before"], ["--before", "--json"], ["--report"]):
        main(["doctor", *arguments])
        printed = capsys.readouterr()
        assert "eth77" in printed.out
        assert_hidden(printed.out + printed.err)


def test_secrets_in_what_a_silent_node_prints_are_not_shown() -> None:
    silent = NodeFacts((), (("n2", f"srun: error: n2: --export=HF_TOKEN={SECRET} {TOKEN}"),))

    shown = texts.node_lines(node_diagnosis(silent))

    assert "srun: error: n2" in "\n".join(shown)
    assert_hidden("\n".join(shown) + report(silent))


async def test_sidecar_sends_and_logs_no_secret(
    logs: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    records = RunRecords(runs())
    plan = RunPlan(
        kind="program", argv=("python", "a.py"), cwd="/w", name="a.py", env={"HF_TOKEN": TOKEN}
    )
    causes = []
    async with sidecar() as client:
        await client.initialize()
        found = await client.result(DIAGNOSE, {"paths": [str(logs)], "workDoneToken": "t"})
        for text in LINES.values():
            record = records.create(plan, RunState("exited", time.time(), host=host_name()))
            record.output.write_text(text + "\n")
            causes.append(await client.result(FIRST_PROBLEM, {"id": record.id}))
        of_run = await client.result(DIAGNOSE, {"run_id": record.id})
        notifications = client.notifications
        await client.end()

    assert found["causes"] and causes[0]["cause"]["id"] == "ulimit-nofile"
    assert of_run["sentence"]
    assert_hidden(json.dumps([found, causes, of_run, notifications]))
    assert_hidden(capfd.readouterr().err)


def test_command_that_diagnoses_a_run_prints_no_secret(own_home: Path) -> None:
    plan = RunPlan(
        kind="program", argv=("python", "a.py", f"--api-key={SECRET}"), cwd="/w", name="a.py"
    )
    state = RunState("exited", time.time(), host=host_name())
    record = RunRecords(runs()).create(plan, state)
    record.output.write_text(TRACEBACK)

    done = ask({"EAGLERAY_HOME": str(own_home)}, "doctor", "--run", record.id)

    assert "ValueError: … was rejected" in done.stdout
    assert_hidden(done.stdout + done.stderr)
