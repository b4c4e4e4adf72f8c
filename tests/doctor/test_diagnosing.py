"""Causes in logs: the earliest first, what follows from it, errors that no rule explains."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.doctor import texts
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.rule_files import own_rules

GLOO = (
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting"
    " 1800000ms for recv operation to complete\n"
)
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has\n"
FILES = "OSError: [Errno 24] Too many open files: 'x'\n"


def test_consequences_come_after_their_cause(tmp_path: Path) -> None:
    for rank in range(5):
        _write(tmp_path, f"worker-{rank}.err", f"2026-11-21 01:55:0{rank} ERROR\n{GLOO}")
    _write(tmp_path, "worker-5.err", f"2026-11-21 01:25:07 INFO step 3\n{OOM}")

    diagnosis = _diagnose(tmp_path)

    assert [(cause.id, cause.secondary, cause.count) for cause in diagnosis.causes] == [
        ("cuda-oom", False, 1),
        ("gloo-timeout", True, 5),
    ]
    assert diagnosis.sentence == "A GPU ran out of memory: 2.00 GiB needed."
    assert diagnosis.causes[0].evidence[0].line == 2
    assert "Consequences:" in texts.lines(diagnosis)


@pytest.mark.parametrize("before", [100, 3000, 50_000])
@pytest.mark.parametrize("after", ["", "y " * 5000])
def test_evidence_of_a_long_line_is_the_part_with_its_sign(
    tmp_path: Path, before: int, after: str
) -> None:
    token = f"api_key=x9nevershown{'z' * 30}"
    line = f"{'错 x' * (before // 3)} {token} {OOM.strip()} {token} {after}\n"
    _write(tmp_path, "worker-0.err", f"step 1\n{line}")

    (cause,) = _diagnose(tmp_path).causes

    (evidence,) = cause.evidence
    assert evidence.line == 2
    assert "api_key=… torch.OutOfMemoryError: CUDA out of memory." in evidence.text
    assert len(evidence.text) <= 500
    assert "zzz" not in evidence.text


def test_earlier_of_two_causes_comes_first_whatever_their_files(tmp_path: Path) -> None:
    _write(tmp_path, "a.err", f"2026-11-21 01:25:09 x\n{FILES}")
    _write(tmp_path, "b.err", f"I1121 01:25:07.5 7 x.cc:1] x\n{OOM}")

    assert [cause.id for cause in _diagnose(tmp_path).causes] == ["cuda-oom", "ulimit-nofile"]


def test_sentence_comes_from_the_earliest_line_whatever_its_file(tmp_path: Path) -> None:
    _write(tmp_path, "a.err", f"2026-11-21 01:25:09 x\n{OOM.replace('2.00', '7.00')}")
    _write(tmp_path, "b.err", f"2026-11-21 01:25:07 x\n{OOM}")

    diagnosis = _diagnose(tmp_path)

    (cause,) = diagnosis.causes
    assert Path(cause.evidence[0].path).name == "b.err"
    assert cause.sentence == diagnosis.sentence == "A GPU ran out of memory: 2.00 GiB needed."


def test_consequence_without_a_cause_is_the_cause(tmp_path: Path) -> None:
    _write(tmp_path, "a.err", GLOO)

    (cause,) = _diagnose(tmp_path).causes

    assert (cause.id, cause.secondary) == ("gloo-timeout", False)


def test_cause_says_why_others_follow_from_it(tmp_path: Path) -> None:
    _write(tmp_path, "a.err", f"2026-11-21 01:25:07 x\n{OOM}")
    _write(tmp_path, "b.err", f"2026-11-21 01:55:07 x\n{GLOO}")

    diagnosis = _diagnose(tmp_path)

    cause, consequence = diagnosis.causes
    assert cause.why.startswith("A rank that ran out of memory closes its connections")
    assert consequence.why.startswith("gloo waits for its peer")
    lines = texts.lines(diagnosis)
    assert f"  Why the others failed: {cause.why}" in lines
    assert lines[lines.index("Consequences:") + 2] == f"    {consequence.why}"


def test_error_after_the_consequences_does_not_explain_them(tmp_path: Path) -> None:
    _write(tmp_path, "a.err", f"2026-11-21 01:25:07 x\n{OOM}")
    _write(tmp_path, "b.err", f"2026-11-21 01:20:07 x\n{GLOO}")

    cause, _ = _diagnose(tmp_path).causes

    assert (cause.id, cause.why) == ("cuda-oom", "")


def test_cause_alone_explains_nothing(tmp_path: Path) -> None:
    _write(tmp_path, "a.err", OOM)

    (cause,) = _diagnose(tmp_path).causes

    assert cause.why == ""


def test_warning_comes_after_an_error(tmp_path: Path) -> None:
    warning = "2026-11-21 01:20:00 Waiting for 4 nodes to be ready, currently 3 nodes available\n"
    _write(tmp_path, "a.out", f"{warning}2026-11-21 01:25:07 E\n{FILES}")

    diagnosis = _diagnose(tmp_path)

    assert [cause.id for cause in diagnosis.causes] == ["ulimit-nofile", "nodes-wait"]
    assert diagnosis.causes[1].sentence == "The program waits for 4 nodes, and 3 have joined Ray."


def test_traceback_without_a_rule_is_an_unknown_error(tmp_path: Path) -> None:
    traceback = (
        "(Policy pid=7, ip=10.0.0.3) Traceback (most recent call last):\n"
        '(Policy pid=7, ip=10.0.0.3)   File "a.py", line 3, in f\n'
        "(Policy pid=8, ip=10.0.0.4) step 3\n"
        "(Policy pid=7, ip=10.0.0.3)     g()\n"
        "(Policy pid=7, ip=10.0.0.3) mine.RewardError: no reward for sk-abcdefghijklmnopqrstuv\n"
    )
    _write(tmp_path, "driver.out", f"start\n{traceback}")

    diagnosis = _diagnose(tmp_path)

    (error,) = diagnosis.unknown
    assert (error.line, error.worker, error.node) == (6, "Policy pid=7", "10.0.0.3")
    assert error.text == "mine.RewardError: no reward for …"
    assert diagnosis.sentence.endswith("mine.RewardError: no reward for …")


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-21 01:25:07,123 ERROR trainer.py:12 -- it broke",
        "[2026-11-21 01:25:07] [ERROR] it broke",
        "CRITICAL:root:it broke",
        "2026-11-21 01:25:07,123 - mine.trainer - ERROR - it broke",
        "ERROR 11-21 01:25:07 [core.py:10] it broke",
        "Fatal Python error: Aborted",
        "训练失败：数据为空",
        "错误码：104",
        "失败: 0.5",
    ],
)
def test_line_with_an_error_level_is_an_unknown_error(tmp_path: Path, line: str) -> None:
    _write(tmp_path, "a.out", f"{line}\n")

    assert [error.text for error in _diagnose(tmp_path).unknown] == [line]


@pytest.mark.parametrize(
    "line",
    [
        "没有错误",
        "失败: 0, 成功: 12",
        "错误数：0",
        "step 3 Error rate: 0.1",
        "Loaded module ERROR_CODES from x",
        "2026-11-21 01:25:07,123 INFO no ERROR so far",
        "the words FATAL and CRITICAL in the middle of a sentence",
        "loss: 0.3 nan_count: 0",
        "[W1121 01:25:07.123456789 ProcessGroupNCCL.cpp:616] a warning",
        "I0112 17:57:59.534689   315 client.cc:488] a note",
        "[2026-05-29 22:51:15,987 I 4837 4890] (gcs_server) ray_syncer.cc:248: a note",
        "E0000 00:00:1723456789.123456    1234 cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to register"
        " factory for plugin cuDNN when one has already been registered",
        "val: error: 0.3",
        "error: nan",
        "levels: [error] 0.3",
        "log level=error is the default",
        "<jemalloc>: Invalid conf pair: background_thread:true",
        "异常检测已开启",
        "超时时间：600",
        "重试超时设置为 30",
        "错误率 0.1",
    ],
)
def test_ordinary_line_is_not_an_error(tmp_path: Path, line: str) -> None:
    _write(tmp_path, "a.out", f"{line}\n")

    diagnosis = _diagnose(tmp_path)

    assert (diagnosis.causes, diagnosis.unknown) == ((), ())
    assert diagnosis.sentence == "No errors in 1 file."


def test_folded_lines_are_counted(tmp_path: Path) -> None:
    _write(tmp_path, "a.out", f"(W pid=1) {FILES.strip()} [repeated 14x across cluster]\n")

    assert _diagnose(tmp_path).causes[0].count == 14


def test_secret_is_in_no_output(tmp_path: Path) -> None:
    _write(tmp_path, "a.out", f"api_key=verysecretvalue1 {FILES}")

    assert "verysecret" not in str(_diagnose(tmp_path))


def test_unknown_exception_has_where_it_was_raised_and_the_code_that_called(tmp_path: Path) -> None:
    """As of deepspeed: the innermost frame is of a library, and the user's code has called it."""
    library = "/opt/env/lib/python3.11/site-packages/deepspeed/runtime/zero/stage_1_and_2.py"
    frames = (("/work/train.py", 88, "step"), (library, 1480, "average_tensor"))
    lines = "".join(
        f'(Policy pid=7)   File "{file}", line {line}, in {function}\n(Policy pid=7)     f()\n'
        for file, line, function in frames
    )
    _write(
        tmp_path,
        "a.out",
        "ERROR no reward model\n(Policy pid=7) Traceback (most recent call last):\n"
        f"{lines}(Policy pid=7) AttributeError: no attribute grads\n",
    )

    diagnosis = _diagnose(tmp_path)

    assert diagnosis.raised == (
        "Raised in average_tensor (stage_1_and_2.py:1480), called in step (train.py:88)."
        " Check that the version of deepspeed fits, or search its issues."
    )
    printed = texts.lines(diagnosis)
    at = printed.index(f"    {diagnosis.raised}")
    assert printed[at - 1].endswith("AttributeError: no attribute grads")


def test_line_number_is_right_far_into_a_file(tmp_path: Path) -> None:
    _write(tmp_path, "a.out", "x" * 99 + "\n" + ("y" * 99 + "\n") * 30_000 + FILES)

    assert _diagnose(tmp_path).causes[0].evidence[0].line == 30_002


def test_file_that_links_to_another_is_read_once(tmp_path: Path) -> None:
    _write(tmp_path, "a.out", FILES)
    (tmp_path / "latest.out").symlink_to(tmp_path / "a.out")

    diagnosis = _diagnose(tmp_path)

    assert (diagnosis.causes[0].count, diagnosis.checked.files) == (1, 1)


def test_pipe_is_not_read_nor_a_compressed_file_without_a_folder_for_its_text(
    tmp_path: Path,
) -> None:
    _write(tmp_path, "a.out", FILES)
    (tmp_path / "b.out.gz").write_bytes(gzip.compress(FILES.encode()))
    os.mkfifo(tmp_path / "c.out")

    diagnosis = _diagnose(tmp_path)

    assert [item.reason for item in diagnosis.checked.unchecked] == ["compressed"]
    assert diagnosis.checked.files == 1


def test_missing_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EaglerayError, match="doesn't exist"):
        list_logs([tmp_path / "none"])


def test_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EaglerayError, match="No log file"):
        list_logs([tmp_path])


def _write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)


def _diagnose(folder: Path) -> Diagnosis:
    files, unchecked = list_logs([folder])
    return diagnose(files, own_rules(), unchecked)


@pytest.mark.parametrize(
    "label",
    [
        "{}: ",
        "[1,{}]<stderr>:",
        "[default{}]:",
        "2026-11-21T01:20:07.123456789Z stderr F {}: ",
    ],
    ids=["srun", "mpirun", "torchrun", "container"],
)
def test_lines_of_a_traceback_have_the_same_label_of_their_launcher(
    tmp_path: Path, label: str
) -> None:
    start = "Traceback (most recent call last):"
    frame = '  File "/a/train.py", line 3, in <module>'
    lines = [
        (0, start),
        (1, start),
        (0, frame),
        (1, frame),
        (0, "ValueError: odd"),
        (1, "KeyError: 'q'"),
    ]
    _write(
        tmp_path, "slurm-7.out", "".join(f"{label.format(task)}{text}\n" for task, text in lines)
    )

    found = _diagnose(tmp_path)

    assert found.sentence == "ValueError: odd"
    assert [error.text for error in found.unknown] == ["ValueError: odd", "KeyError: 'q'"]
    assert len({error.worker for error in found.unknown}) == 2


def test_error_of_a_task_comes_from_its_worker(tmp_path: Path) -> None:
    wrapped = "ray.exceptions.RayTaskError(ZeroDivisionError): \x1b[36mray::step()\x1b[39m (pid=1, ip=10.0.0.1)"
    frames = '  File "a.py", line 9, in score\n    return 1 / steps\n           ~~^~~~~~~\n'
    start = 'Traceback (most recent call last):\n  File "b.py", line 2, in get\n'
    _write(
        tmp_path, "driver.log", f"{start}{wrapped}\n{frames}ZeroDivisionError: division by zero\n"
    )
    _write(tmp_path, "other.log", f"{start}{wrapped}\n{frames}2026-11-21 01:25:07 INFO step 3\n")

    texts_of = {Path(item.path).name: item.text for item in _diagnose(tmp_path).unknown}

    assert texts_of["driver.log"] == "ZeroDivisionError: division by zero"
    assert texts_of["other.log"].startswith("ray.exceptions.RayTaskError(ZeroDivisionError)")


VLLM = "(LLMRayActor pid=7) (EngineCore_DP0 pid=9) ERROR 11-21 01:25:07 [core.py:396]"


def test_logged_traceback_is_one_error_in_the_words_of_its_exception(tmp_path: Path) -> None:
    lines = [
        "INFO 11-21 01:25:01 [core.py:10] Initializing",
        f"{VLLM} EngineCore failed to start.",
        f"{VLLM} Traceback (most recent call last):",
        f'{VLLM}   File "core.py", line 387, in run',
        f"{VLLM}     engine = Engine()",
        f"{VLLM}              ^^^^^^^^",
        f"{VLLM} mine.EngineError: no such layer",
        f"{VLLM} ",
    ]
    _write(tmp_path, "a.out", "\n".join(lines) + "\n")

    diagnosis = _diagnose(tmp_path)

    assert diagnosis.unknown == ()
    (error,) = diagnosis.causes[0].evidence
    assert (error.line, error.worker) == (7, "LLMRayActor pid=7")
    assert error.text.endswith("mine.EngineError: no such layer")


def test_error_level_behind_a_long_date_is_an_error(tmp_path: Path) -> None:
    date = "2026-09-06 02:08:27.123456: "
    noise = f"{date}E external/local_xla/xla/cuda_platform.cc:51] failed call to cuInit: INTERNAL\n"
    _write(
        tmp_path, "a.out", f"{noise}{date}E external/xla/xla/compiler.cc:77] Unsupported layout\n"
    )

    (error,) = _diagnose(tmp_path).unknown

    assert error.line == 2


def test_traceback_without_its_indentation_has_its_frames(tmp_path: Path) -> None:
    frames = 'File "/job/a.py", line 3, in f\nreturn g(x)\n^^^^^^^\nFile "/job/b.py", line 7, in g\nraise Bad(x)\n'
    _write(tmp_path, "a.out", f"Traceback (most recent call last):\n{frames}mine.Bad: 7 rows\n")

    assert _diagnose(tmp_path).raised == "Raised in g (b.py:7)."


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (FILES, "ulimit-nofile"),
        ("a.sh: line 7: 12 Segmentation fault  python a.py\n", "segmentation-fault"),
        (f"Error: {OOM}", "cuda-oom"),
    ],
)
def test_rule_is_named_after_many_errors_without_one(tmp_path: Path, line: str, rule: str) -> None:
    errors = "2026-11-21 01:25:07 ERROR step failed\n" * 50
    _write(tmp_path, "a.out", f"{errors}2026-11-21 01:25:09 ERROR {line}")

    (cause,) = _diagnose(tmp_path).causes

    assert (cause.id, cause.evidence[0].line) == (rule, 51)


def test_exception_without_a_message_has_the_code_of_its_frame(tmp_path: Path) -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    assert rows == 3\n'
    _write(tmp_path, "a.out", f"{text}           ^^^^^^^^^\nAssertionError\n")

    assert _diagnose(tmp_path).sentence.endswith("AssertionError (assert rows == 3)")


def test_exception_is_named_and_listed_before_an_earlier_line_with_an_error_level(
    tmp_path: Path,
) -> None:
    noise = "2026-11-21 01:25:01 ERROR plugins.py:3 -- no plugin\nstep 1\n"
    text = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\nmine.Bad: 7 rows\n'
    _write(tmp_path, "a.out", f"{noise}{text}")

    diagnosis = _diagnose(tmp_path)

    assert diagnosis.sentence == "mine.Bad: 7 rows"
    assert [error.line for error in diagnosis.unknown] == [5, 1]


@pytest.mark.parametrize(("at", "first"), [("01:25:07", "unknown-error"), ("01:59:07", "gloo")])
def test_exception_without_a_rule_comes_before_its_consequences(
    tmp_path: Path, at: str, first: str
) -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\nmine.Bad: 7 rows\n'
    _write(tmp_path, "a.err", f"2026-11-21 {at} INFO step 3\n{text}")
    _write(tmp_path, "b.err", f"2026-11-21 01:55:07 INFO step 3\n{GLOO}")

    diagnosis = _diagnose(tmp_path)

    assert diagnosis.causes[0].id.startswith(first)
    assert diagnosis.causes[-1].id == "gloo-timeout"
    if first == "unknown-error":
        assert diagnosis.sentence == "mine.Bad: 7 rows"
        assert diagnosis.causes[1].secondary
        assert diagnosis.unknown == ()


def test_stopped_program_has_no_error(tmp_path: Path) -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\nKeyboardInterrupt\n'
    _write(tmp_path, "a.out", text)

    assert _diagnose(tmp_path).unknown == ()


@pytest.mark.parametrize(
    "line",
    ["mine.EngineError: no such layer", "RuntimeError: x", "a.cc:219: Check failed: objects_valid"],
)
def test_error_without_a_traceback_above_it_is_unknown(tmp_path: Path, line: str) -> None:
    _write(tmp_path, "a.out", f"step 1\n{line}\nstep 2\n")

    assert [error.text for error in _diagnose(tmp_path).unknown] == [line]


@pytest.mark.parametrize(
    "line", ["Error: 0.1", "loss of ValueError: none", "EngineError:", "Last Exception: never"]
)
def test_text_that_only_mentions_an_exception_is_none(tmp_path: Path, line: str) -> None:
    _write(tmp_path, "a.out", f"step 1\n{line}\nstep 2\n")

    assert _diagnose(tmp_path).unknown == ()


# In the forms that PyTorch, glog, gRPC, Ray, glibc, jemalloc, LLVM, Rust, SLURM, MPI, argparse, nvcc and bash write.
FOREIGN_ERRORS = (
    "[rank3]:[E1121 01:25:07.123456789 ProcessGroupNCCL.cpp:616] [Rank 3] a made-up reason",
    "[E1121 01:25:07.123456789 TCPStore.cpp:12] a made-up reason",
    "[E ProcessGroupNCCL.cpp:464] [Rank 0] a made-up reason",
    "[default0]:[rank0]:[F1121 01:25:07.123456789 ProcessGroupNCCL.cpp:1575] a made-up reason",
    "F0803 17:57:59.534689 31315 31315 accessor.cc:488]  a made-up reason",
    "E0112 17:57:59.534689   315 client.cc:488] a made-up reason",
    "[2026-05-29 22:51:15,987 C 4837 4890] (gcs_server) ray_syncer.cc:248: a made-up reason",
    "[2026-05-29 22:51:15,987 C 4837 4890] (raylet) a.cc:248:  An unexpected system state has occurred. You have likely"
    " discovered a bug in Ray. Please report this issue at a page and we'll work with you to fix it. Check failed: x",
    "terminate called without an active exception",
    "LLVM ERROR: a made-up reason",
    "python: /src/a.cc:12: void f(int): Assertion `x > 0' failed.",
    "thread '<unnamed>' panicked at src/lib.rs:12:5:",
    "<jemalloc>: Error allocating an arena",
    "srun: error: a made-up reason",
    "slurmstepd: error: a made-up reason",
    "sbatch: error: a made-up reason",
    "train.py: error: argument --lr: invalid float value: 'made-up'",
    'kernel.cu(12): error: identifier "x" is undefined',
    "error: a made-up reason",
    "/var/spool/slurmd/job1/slurm_script: line 12: MADE_UP: unbound variable",
    '{"asctime":"2026-11-21 01:02:03","levelname":"ERROR","message":"a made-up reason"}',
    'time="2026-11-21T01:02:03Z" level=error msg="a made-up reason"',
    "2026-11-21T01:02:03Z [error    ] a made-up reason",
    "[node1:12345] *** An error occurred in MPI_Bcast",
    "Fatal error in PMPI_Bcast: Other MPI error, error stack:",
    "训练过程中发生异常：数据为空",
    "无法加载模型 /a/b",
    "请求超时，放弃",
    "进程异常退出，退出码 1",
)


@pytest.mark.parametrize("line", FOREIGN_ERRORS)
def test_error_of_a_library_or_a_tool_is_unknown_at_its_line(tmp_path: Path, line: str) -> None:
    _write(tmp_path, "a.err", f"step 1\n{line}\nstep 2\n")
    _write(tmp_path, "b.out", f"step 1\nstep 2\n(Worker pid=7, ip=10.0.0.3) {line}\nstep 3\n")

    diagnosis = _diagnose(tmp_path)

    assert [(error.text, error.line) for error in diagnosis.unknown] == [(line, 2), (line, 3)]
    assert diagnosis.sentence == f"{line}"


def test_crash_is_named_before_an_earlier_line_with_an_error_level(tmp_path: Path) -> None:
    crash = "terminate called after throwing an instance of 'std::runtime_error'"
    text = f"2026-11-21 01:25:01 ERROR plugins.py:3 -- no plugin\n{crash}\n  what():  7 rows\nAborted\n"
    _write(tmp_path, "a.err", text)

    diagnosis = _diagnose(tmp_path)

    assert diagnosis.sentence == f"{crash} what():  7 rows"


def test_crash_whose_message_a_rule_explains_is_not_an_unknown_error(tmp_path: Path) -> None:
    crash = "terminate called after throwing an instance of 'c10::Error'"
    _write(tmp_path, "a.err", f"{crash}\n  what():  {OOM}")

    diagnosis = _diagnose(tmp_path)

    assert [cause.id for cause in diagnosis.causes] == ["cuda-oom"]
    assert diagnosis.unknown == ()


@pytest.mark.parametrize(("names", "shown"), [("a", "1 file"), ("ab", "2 files")])
def test_numbers_of_files_have_their_plural(tmp_path: Path, names: str, shown: str) -> None:
    for name in names:
        _write(tmp_path, f"{name}.out", "step 3\n")

    diagnosis = _diagnose(tmp_path)

    assert diagnosis.sentence == f"No errors in {shown}."
    assert texts.lines(diagnosis)[-1] == f"Checked {shown}."


@pytest.mark.parametrize(("more", "shown"), [(1, "1 more file was"), (2, "2 more files were")])
def test_numbers_of_unchecked_files_have_their_plural(
    tmp_path: Path, more: int, shown: str
) -> None:
    _write(tmp_path, "a.out", "step 3\n")
    for number in range(5 + more):
        (tmp_path / f"{number}.out.gz").write_bytes(gzip.compress(b"x"))

    assert texts.lines(_diagnose(tmp_path))[-1] == f"{shown} not checked."


def _chain(first: str, between: str, second: str, code: str) -> str:
    """Two tracebacks as Python writes them for an exception in a handler."""
    start = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n'
    frame = '  File "a.py", line 5, in f\n'
    return f"{start}    g()\n{first}\n\n{between}\n\n{start}    f()\n{frame}{code}{second}\n"


HANDLING = "During handling of the above exception, another exception occurred:"
BECAUSE = "The above exception was the direct cause of the following exception:"
RAISE = '    raise Bad(\n        "no such model"\n    )\n'
BAD = "mine.Bad: no such model"


@pytest.mark.parametrize(
    ("first", "between", "code", "named"),
    [
        ("ValueError: 7 rows", HANDLING, RAISE, "ValueError: 7 rows"),
        ("ValueError: 7 rows", BECAUSE, RAISE, "ValueError: 7 rows"),
        ("ValueError: 7 rows", HANDLING, "    log.close()\n", "ValueError: 7 rows"),
        ("KeyError: 'qwen9'", BECAUSE, RAISE, "KeyError: 'qwen9'"),
        ("KeyError: 'qwen9'", HANDLING, "    log.close()\n", "KeyError: 'qwen9'"),
        ("KeyError: 'qwen9'", HANDLING, RAISE, BAD),
        ("KeyError: 'qwen9'", "", RAISE, "KeyError: 'qwen9'"),
    ],
)
@pytest.mark.parametrize("prefix", ["", "(Policy pid=7, ip=10.0.0.3) ", f"{VLLM} "])
def test_one_exception_of_a_chain_is_the_first_error(
    tmp_path: Path, first: str, between: str, code: str, named: str, prefix: str
) -> None:
    lines = [f"{prefix}{line}" for line in _chain(first, between, BAD, code).splitlines()]
    # Another worker of the same log.
    _write(tmp_path, "a.err", "\n(Other pid=8) step 3\n".join(lines) + "\n")

    diagnosis = _diagnose(tmp_path)

    assert diagnosis.sentence.endswith(named)
    shown = [error.text.removeprefix(f"{VLLM.partition(') ')[2]} ") for error in diagnosis.unknown]
    assert shown == [named, *({first, BAD} - {named})]


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("ValueError: 7 rows", ["ValueError: 7 rows", BAD]),
        ("KeyError: 'a'", [BAD, "KeyError: 'a'"]),
    ],
)
def test_other_exceptions_of_a_chain_are_lines_of_its_cause(
    tmp_path: Path, first: str, expected: list[str]
) -> None:
    _write(tmp_path, "a.err", f"{_chain(first, HANDLING, BAD, RAISE)}{GLOO}")

    diagnosis = _diagnose(tmp_path)

    assert diagnosis.sentence == f"{expected[0]}"
    assert [line.text for line in diagnosis.causes[0].evidence] == expected
    assert diagnosis.unknown == ()


def test_rule_names_the_cause_whichever_exception_of_a_chain_it_explains(tmp_path: Path) -> None:
    _write(tmp_path, "a.err", _chain("KeyError: 'a'", HANDLING, OOM.strip(), RAISE))
    _write(tmp_path, "b.err", _chain(OOM.strip(), HANDLING, "KeyError: 'b'", "    log.close()\n"))

    diagnosis = _diagnose(tmp_path)

    assert [cause.id for cause in diagnosis.causes] == ["cuda-oom"]
    assert [error.text for error in diagnosis.unknown] == ["KeyError: 'a'", "KeyError: 'b'"]


def test_traceback_that_torch_logs_is_one_error(tmp_path: Path) -> None:
    torch = "E0303 11:40:42.533000 713 torch/_inductor/runtime/triton_heuristics.py:533]"
    lines = [
        f"{torch} Triton compilation failed: kernel_0",
        f"{torch} Traceback (most recent call last):",
        f'{torch}   File "a.py", line 387, in run',
        f"{torch}     g()",
        f"{torch} mine.KernelError: no such kernel",
        f"{torch} ",
    ]
    _write(tmp_path, "a.out", "\n".join(lines) + "\n")

    (error,) = _diagnose(tmp_path).unknown

    assert (error.line, error.text) == (5, "mine.KernelError: no such kernel")


def test_crash_has_the_frames_that_faulthandler_writes_without_a_comma(tmp_path: Path) -> None:
    worker = "(MegatronPolicyWorker[rank=8] pid=32, ip=10.0.0.9) "
    lines = [
        "Fatal Python error: Segmentation fault",
        "",
        "Thread 0x00007f2e (most recent call first):",
        '  File "/opt/nemo/moe_layer.py", line 701 in forward',
        '  File "/opt/nemo/train.py", line 126 in model_forward',
        "",
    ]
    _write(tmp_path, "a.out", "".join(f"{worker}{line}\n" for line in lines))
    assert _diagnose(tmp_path).raised == "Raised in forward (moe_layer.py:701)."


NCCL = (
    "Traceback (most recent call last):\n"
    '  File "/opt/torch/distributed/distributed_c10d.py", line 2824, in broadcast\n'
    "    work = group.broadcast([tensor], opts)\n"
    "torch.distributed.DistBackendError: NCCL error in: /torch/NCCLUtils.cpp:94, invalid argument, NCCL version 2.27.5\n"
    "ncclInvalidArgument: Invalid value for an argument.\nLast error:\n"
)


@pytest.mark.parametrize(
    ("last", "raised"),
    [
        (
            "Invalid config blocking attribute value 7",
            'NCCL says: "Invalid config blocking attribute value 7"',
        ),
        ("", "Raised in broadcast (distributed_c10d.py:2824)."),
    ],
)
def test_text_of_nccl_is_quoted(tmp_path: Path, last: str, raised: str) -> None:
    _write(tmp_path, "a.err", f"{NCCL}{last}\nstep 3\n")
    assert _diagnose(tmp_path).raised.endswith(raised)


def test_connection_that_nccl_names_last_is_the_cause(tmp_path: Path) -> None:
    text = NCCL.replace("invalid argument", "unhandled system error").replace(
        "ncclInvalidArgument: Invalid value for an argument.",
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.",
    )
    last = (
        "socketStartConnect: Connect to 10.4.0.9<52822> failed : Software caused connection abort"
    )
    _write(tmp_path, "a.err", f"{text}{last}\n")
    assert _diagnose(tmp_path).causes[0].id == "nccl-socket"


def test_lookup_of_a_missing_key_is_shown_with_its_code(tmp_path: Path) -> None:
    trace = 'Traceback (most recent call last):\n  File "/w/a.py", line 61, in get\n    name = TRAINERS[method]\n'
    _write(tmp_path, "a.err", f"{trace}KeyError: 'grpo'\n")
    assert _diagnose(tmp_path).sentence.endswith("KeyError: 'grpo' (name = TRAINERS[method])")
