"""Errors that a program has survived are notes and no cause; the lines have the shape of public logs, with made-up details."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.rule_files import own_rules
from eagleray.doctor.texts import lines

from tests.doctor.clean_logs import false_alarms


def verl(first: int, end: int) -> str:
    return "".join(
        f"(TaskRunner pid=41) step:{n} - actor/pg_loss:0.{n:03d} - timing_s/step:63.2\n"
        for n in range(first, end)
    )


def bars(first: int, end: int, prefix: str = "", label: str = "") -> str:
    return "".join(
        f"{prefix}{label} {n // 4:2}%|{'█' * (n // 40):10}| {n}/400 [00:{n % 60:02}<19:00,  3.55s/it]\n"
        for n in range(first, end)
    )


def requests(count: int, status: str = "200 OK", process: str = "(APIServer pid=1) ") -> str:
    return "".join(
        f'{process}INFO:     10.3.1.{n % 9}:{30000 + n} - "POST /v1/chat/completions HTTP/1.1" {status}\n'
        for n in range(count)
    )


def megatron(first: int, end: int, label: str = "") -> str:
    return "".join(
        f"{label} [2026-09-06 10:{n % 60:02}:09] iteration {n:8}/    5000 | consumed samples: {n * 512:12} | lm loss: 2.1E+00 |\n"
        for n in range(first, end)
    )


def raised(text: str, prefix: str = "", place: str = "/w/reward.py") -> str:
    body = (
        "Traceback (most recent call last):",
        f'  File "{place}", line 88, in score',
        "    run(x)",
        text,
    )
    return "".join(f"{prefix}{line}\n" for line in body)


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB"
MISSING = "ModuleNotFoundError: No module named 'sympyy'"
SURVIVED = {
    "exception of a reward function": (
        verl(0, 30) + raised("latex.ParseError: no viable alternative", "(Reward pid=42) "),
        verl(30, 60),
    ),
    "tool of an agent that runs the model's code": (
        verl(0, 9) + raised(MISSING, "(AgentLoop pid=9) ", "<stdin>"),
        verl(9, 40),
    ),
    "prompt that quotes an error": (
        verl(0, 9) + "(TaskRunner pid=41) RuntimeError: CUDA error: device-side assert triggered\n",
        verl(9, 40),
    ),
    "batch that is tried again with half of its size": (
        bars(0, 40, "[rank0]: ") + raised(OOM, "[rank0]: "),
        bars(40, 90, "[rank0]: "),
    ),
    "optional package": (raised(MISSING), megatron(0, 50)),
    "handler of a log without its first line": (
        megatron(0, 50, "1: ")
        + raised("FileNotFoundError: [Errno 2] No such file or directory: '/tmp/a.1'", "1: "),
        megatron(50, 99, "2: "),
    ),
    "steps that begin again from a checkpoint": (
        bars(0, 90)
        + raised("torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"),
        bars(60, 130),
    ),
    "epochs with bars of their own": (
        bars(0, 95) + raised(MISSING),
        bars(95, 100, label="Epoch 0:") + bars(0, 9, label="Epoch 1:"),
    ),
    "end in Chinese": (raised(MISSING) + "第 3 步\n" * 12, "训练完成\n"),
    "thread of wandb": (
        bars(0, 90) + raised("BrokenPipeError: [Errno 32] Broken pipe"),
        bars(90, 130, label="Training Progress:"),
    ),
    "worker of a task that Ray repeats": (
        verl(0, 9)
        + "(raylet, ip=10.0.0.7) A worker died or was killed while executing a task by an unexpected system error.\n",
        verl(9, 40),
    ),
    "request that a server refuses": (
        requests(60) + raised("ValueError: Unknown part type: video", "(APIServer pid=1) "),
        requests(60),
    ),
    "client that has left a server without labels": (
        requests(60, process="") + raised("anyio.ClosedResourceError"),
        requests(60, process=""),
    ),
    "end that a program states": (
        raised(MISSING) + "epoch\n" * 12,
        "{'train_runtime': 812.2, 'train_loss': 0.31}\n",
    ),
    "job that has succeeded": (
        raised(OOM) + "evaluated\n" * 12,
        "Job 'raysubmit_4F' succeeded\n",
    ),
}
FATAL = {
    "training that stops": (verl(0, 90) + raised(MISSING), verl(90, 92)),
    "other ranks that load": (
        raised(MISSING, "[rank1]: "),
        bars(0, 200, label="Loading safetensors checkpoint shards:"),
    ),
    "server that answers with errors": (
        requests(60) + raised(MISSING, "(APIServer pid=1) "),
        requests(90, "500 Internal Server Error"),
    ),
    "server that is only asked for its health": (
        requests(60, process="") + raised(MISSING),
        'INFO:     10.3.1.1:30000 - "GET /health HTTP/1.1" 200 OK\n' * 90,
    ),
    "engine that waits": (
        "(Engine pid=3) throughput: 3.1 tokens/s\n" * 60 + raised(MISSING, "(Engine pid=3) "),
        "(Engine pid=3) throughput: 0.0 tokens/s\n" * 90,
    ),
    "other process that works": (
        "(Engine pid=4) batch of 8\n" * 60 + raised(MISSING, "(Engine pid=3) "),
        "(Engine pid=4) batch of 8\n" * 90,
    ),
    "other ranks without labels": (
        "n0:71:81 [0] NCCL INFO Channel 00 : 0 -> 1\n" * 60 + raised(MISSING),
        "n0:71:81 [0] NCCL INFO Channel 00 : 0 -> 1\n" * 90,
    ),
    "status of the last command of a script": (
        "epoch\n" * 60 + raised(MISSING),
        "Job 'raysubmit_4F' succeeded\n",
    ),
}


def diagnosis_of(folder: Path, text: str) -> Diagnosis:
    (folder / "a.log").write_text(text)
    files, unchecked = list_logs([folder / "a.log"])
    return diagnose(files, own_rules(), unchecked)


@pytest.mark.parametrize("name", SURVIVED)
def test_error_that_a_program_has_survived_is_a_note(tmp_path: Path, name: str) -> None:
    diagnosis = diagnosis_of(tmp_path, "".join(SURVIVED[name]))
    assert false_alarms(diagnosis) == []
    assert diagnosis.sentence.startswith("The program continued after this: ")
    assert "The program continued after this: " in "\n".join(lines(diagnosis))


@pytest.mark.parametrize("name", FATAL)
def test_error_that_others_outlive_is_the_cause(tmp_path: Path, name: str) -> None:
    first = diagnosis_of(tmp_path, "".join(FATAL[name])).causes[0]
    assert (first.id, first.severity) == ("module-missing", "error")


@pytest.mark.parametrize("name", SURVIVED)
def test_error_at_the_end_is_the_cause_after_one_that_was_survived(
    tmp_path: Path, name: str
) -> None:
    text = (
        SURVIVED[name][0]
        + verl(0, 30)
        + raised("rl.BadBatch: no rows left", "(TaskRunner pid=41) ")
    )
    diagnosis = diagnosis_of(tmp_path, text)
    assert diagnosis.sentence.endswith("The first error is: rl.BadBatch: no rows left")
    assert diagnosis.causes[0].severity == "info"


def test_same_error_at_the_end_is_shown_with_its_last_line(tmp_path: Path) -> None:
    text = verl(0, 9) + raised(OOM) + verl(9, 40) + raised(OOM)
    first = diagnosis_of(tmp_path, text).causes[0]
    assert (first.id, first.severity, first.evidence[0].line) == ("cuda-oom", "error", 48)


def test_loss_that_is_not_a_number_stays_a_cause_while_the_training_continues(
    tmp_path: Path,
) -> None:
    text = "".join(f"step {n} loss: {'nan' if n > 9 else 0.1} grad_norm: 0.2\n" for n in range(60))
    assert diagnosis_of(tmp_path, text).causes[0].id == "nan-loss"
