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
PARSING = "latex.ParseError: no viable alternative at column 7"
MISSING = "ModuleNotFoundError: No module named 'sympyy'"
LONG = "ValueError: This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.\n"
LIMITED = "WARNING judge: openai.RateLimitError: Error code: 429 - {'error': {'message': 'Rate limit reached'}}\n"
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
    "work that is done right after it": (
        bars(0, 9) + raised(MISSING),
        "{'train_runtime': 812.2, 'train_loss': 0.31}\n*** Training complete ***\n",
    ),
    "worker that is lost after the work is done": (
        verl(0, 9)
        + raised(MISSING, "(TaskRunner pid=41) ")
        + "(TaskRunner pid=41) Final validation metrics: {'val/acc': 0.8}\n",
        "(raylet) A worker died or was killed while executing a task by an unexpected system error. Exit code 143\n"
        "exit status 0\n",
    ),
    "job with a status": (
        raised(OOM) + "evaluated\n" * 12,
        "Job finished with status: SUCCEEDED\n",
    ),
    "last steps": (
        megatron(0, 9) + raised(MISSING),
        " iteration     5000/    5000 | lm loss: 2.1E+00 |\n",
    ),
    "steps that a loss scaler skips": (
        "{'loss': 1.3, 'grad_norm': nan, 'epoch': 0.01}\n" * 3,
        "".join(f"{{'loss': 1.3, 'grad_norm': 0.7, 'epoch': 0.{n:02}}}\n" for n in range(2, 40)),
    ),
    "error that is as often survived": (
        "".join(raised(PARSING, "(Reward pid=42) ") + verl(20 * n, 20 * n + 20) for n in range(4)),
        raised(PARSING, "(Reward pid=42) "),
    ),
    "server that was stopped on purpose": (
        "(APIServer pid=1) INFO:     Shutting down\n"
        + raised(
            "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
            "(APIServer pid=1) ",
        ),
        "(APIServer pid=1) INFO:     Application shutdown complete.\n",
    ),
    "retry that succeeds near the end": (
        raised(
            "requests.exceptions.HTTPError: 503 Server Error: Service Unavailable",
            "(Reward pid=42) ",
        ),
        "(Reward pid=42) attempt 2/3 ok\n" + verl(3, 5),
    ),
    "request that is too long": (
        requests(20) + "(APIServer pid=1) " + LONG,
        requests(20),
    ),
    "limit of a service": (
        "step 1\n" + LIMITED,
        "".join(f"INFO iter {n} | reward 0.5\n" for n in range(1, 30)),
    ),
    "evaluation that ends with its table": (
        "prompt: What ended this job?\n" + raised(OOM),
        "|Tasks|Version|Filter|n-shot|Metric|\n|gsm8k|      3|strict|     5|exact_match|\n",
    ),
    "job that has succeeded": (
        raised(OOM) + "evaluated\n" * 12,
        "Job 'raysubmit_4F' succeeded\n",
    ),
    "few steps at the end of a log": (verl(0, 9) + raised(PARSING), verl(9, 13)),
    "counter without a name": (
        "".join(f"(Trainer pid=7) [{n}] reward 0.{40 - n}\n" for n in range(4))
        + "(Rollout pid=8) ERROR engine 3 is gone: ServerDisconnectedError\n",
        "".join(f"(Trainer pid=7) [{n}] reward 0.{40 - n}\n" for n in range(4, 8)),
    ),
    "counter beside metrics of errors": (
        "".join(f"{{'trainer/global_step': {n}, 'error_count': 0}}\n" for n in range(4))
        + "10:00:02 | ERROR    | sandbox:init:70 - 409 Client Error: Conflict\n",
        "".join(f"{{'trainer/global_step': {n}, 'error_count': 0}}\n" for n in range(4, 8)),
    ),
    "evaluation in a quote": (
        "> evaluating\n" + raised("ValueError: bad sample 31", "> "),
        "".join(f"> evaluated {n}00/1200 samples\n" for n in range(1, 13)),
    ),
    "part of a server that is optional": (
        "[08:00:31] WARNING http_server.py:288: Can not initialize the responses, error: \n"
        + raised("openai_harmony.HarmonyError: no vocabulary"),
        "[08:00:31] INFO:     Started server process [7]\nThe server is ready\n",
    ),
    "traceback of a logger with a lower level": (
        raised(MISSING, "(APIServer pid=1) DEBUG 05-01 10:00:06 [x.py:1] "),
        "(APIServer pid=1) INFO:     Started server process [1]\n(APIServer pid=1) INFO:     Ready.\n",
    ),
    "peer that is lost at the exit": (
        bars(0, 5)
        + "`Trainer.fit` stopped: `max_epochs=5` reached.\nException in thread Thread-4 (_pin_memory_loop):\n"
        + raised("ConnectionResetError: [Errno 104] Connection reset by peer"),
        "│        test_acc        │   0.9121  │\n",
    ),
    "results after a command that a script lacks": (
        "/var/spool/slurm_script: line 12: module: command not found\n",
        "evaluating\nresults written to /out/r.json\n",
    ),
    "peers that end after a signal": (
        megatron(0, 9)
        + "exiting program after receiving SIGTERM.\n"
        + "[rank1]:[E801 10:00:00.111222333 ProcessGroupNCCL.cpp:1802] Could not receive type from C10d Store: reset\n",
        "srun: step completed: exit code 0\n",
    ),
    "few steps after a loss that isn't a number": (
        "{'loss': nan, 'epoch': 0.01}\n" * 2,
        "".join(f"{{'loss': 1.3, 'epoch': 0.0{n}}}\n" for n in range(2, 6)),
    ),
    "traceback of another program that is quoted": (
        verl(0, 9)
        + "stderr of candidate 3:\n"
        + raised("IndexError: out of range", "    ").replace("in score", "in <module>"),
        verl(9, 14),
    ),
    "cancelled work of a server that was stopped": (
        "^CINFO:     Shutting down\nERROR:    "
        + raised("asyncio.exceptions.CancelledError: Task cancelled"),
        "INFO:     Finished server process [3]\n",
    ),
}
FATAL = {
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


FATAL |= {
    "work that is done on another rank": (
        raised(MISSING) + "*** Training complete ***\n",
        "  exitcode  : 1 (pid: 712)\n",
    ),
    "failure behind the work": (
        "*** Training complete ***\n" * 2 + raised(MISSING),
        "exit status 0\n",
    ),
    "server that stops because of it": (
        raised(MISSING, "(APIServer pid=1) "),
        "(APIServer pid=1) INFO:     Shutting down\n(APIServer pid=1) INFO:     Application shutdown complete.\n",
    ),
    "attempts that fail in the same way": (
        "".join(raised(MISSING) + verl(20 * n, 20 * n + 20) for n in range(4)) + raised(MISSING),
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n  exitcode  : 1 (pid: 712)\n",
    ),
}
FATAL |= {
    "ports of clients": (
        requests(9, process="") + raised(MISSING, "(EngineCore pid=9) "),
        "".join(
            f'INFO:     127.0.0.1:{30009 + n} - "POST /update/ HTTP/1.1" 200 OK\n' for n in range(5)
        ),
    ),
    "bars of a worker before the error": (
        bars(0, 3, "(Worker pid=65) ", "Generating Epochs:")
        + "(Worker pid=65) Generating Epochs: 100%|██| 3/3 [00:01<00:00,  1.67it/s]\n"
        + raised(MISSING),
        "The actor is dead because it was killed by `ray.kill`.\n",
    ),
    "warning that isn't about the error": (
        "(Warning) The request cannot be scheduled right now: {'GPU': 8.0}. Consider adding nodes.\n"
        + raised(MISSING),
        "stopping\nbye\nbye\n",
    ),
    "engine that outlives its driver": (
        "".join(f"(Engine pid=4) batch {n}\n" for n in range(9))
        + raised(MISSING).replace("in score", "in <module>"),
        "".join(f"(Engine pid=4) batch {n}\n" for n in range(9, 15)),
    ),
    "processes that are counted at the end": (
        raised(MISSING),
        "".join(f"Sending process {810 + n} closing signal SIGTERM\n" for n in range(12)),
    ),
}
UNDECIDED = {
    "training that stops": (verl(0, 90) + raised(MISSING), verl(90, 92)),
    "work on another part of the data that is complete": (
        bars(0, 9) + "Training: 100%|██| 9/9 [00:01<00:00,  1.67it/s]\n" + raised(MISSING),
        "step 1\nstep 2\n",
    ),
    "records of the same process": (
        raised(PARSING, "(Judge pid=7) "),
        "(Judge pid=7) INFO 09-03 10:11:51 POST / 500 2.1ms\n(Judge pid=7) INFO 09-03 10:11:52 POST / 200 8ms\n"
        "(Judge pid=7) INFO 09-03 10:11:53 POST / 200 8ms\n",
    ),
}
QUOTED = {
    "question and answer": "user: my script says\n" + raised(MISSING) + "assistant: install it\n",
    "block of code": "sample 3\n```\n" + raised(MISSING) + "```\nscore 1\n",
    "row of data": '{"prompt": "Traceback (most recent call last):\\n  File \\"a.py\\"\\nNameError: x", "score": 1}\n',
    "linter": "src/loop.py:12: error: Incompatible types in assignment  [assignment]\n",
    "completion": "Completion 0:\n" + raised(MISSING) + "<|im_end|>\n",
    "output of a model": "model output: Segmentation fault (core dumped) is printed for n<0.\n",
    "table": "│ Fix this code │ ModuleNotFoundError: No module named 'sympyy' │ 1.00 │\n",
    "program in a sandbox": "[sandbox] sample 7 test 0 verdict=RE stderr:\n" + raised(MISSING),
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


@pytest.mark.parametrize("name", UNDECIDED)
def test_error_in_a_log_that_continues_without_an_end_is_undecided(
    tmp_path: Path, name: str
) -> None:
    diagnosis = diagnosis_of(tmp_path, "".join(UNDECIDED[name]))
    assert diagnosis.sentence.startswith("The program may have continued after this: ")
    assert diagnosis.causes[0].severity == "warning"


def test_line_that_its_program_logs_as_information_is_not_a_cause(tmp_path: Path) -> None:
    text = "n1:7:7 [0] NCCL INFO NET/Plugin : libfoo.so.1: cannot open shared object file: No such file or directory\n"
    assert false_alarms(diagnosis_of(tmp_path, text)) == []
    end = raised(
        "ImportError: libfoo.so.1: cannot open shared object file: No such file or directory"
    )
    assert diagnosis_of(tmp_path, text + end).causes[0].severity == "error"


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
    assert diagnosis.sentence.endswith("rl.BadBatch: no rows left")
    assert diagnosis.causes[0].severity != "error"


def test_few_steps_do_not_count_where_another_log_has_a_failure(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(verl(0, 9) + raised(MISSING) + verl(9, 13))
    (tmp_path / "trainer.log").write_text(raised("rl.BadBatch: no rows left"))
    files, unchecked = list_logs([tmp_path])
    first = diagnose(files, own_rules(), unchecked).causes[0]
    assert (first.id, first.severity) == ("module-missing", "error")


@pytest.mark.parametrize("name", QUOTED)
def test_text_that_a_program_quotes_is_not_its_error(tmp_path: Path, name: str) -> None:
    diagnosis = diagnosis_of(tmp_path, QUOTED[name])
    assert (diagnosis.causes, diagnosis.unknown) == ((), ())


def test_error_that_was_handled_gives_way_to_one_that_comes_later(tmp_path: Path) -> None:
    text = (
        raised(MISSING)
        + "WARNING: kernels could not be compiled, using the unfused ones\n"
        + "[rank0]: loaded\n[rank1]: loaded\n" * 9
        + raised("RuntimeError: 256 experts must be 512 columns", "[rank1]: ")
        + raised("RuntimeError: 256 experts must be 512 columns", "[rank0]: ")
    )
    diagnosis = diagnosis_of(tmp_path, text)
    assert diagnosis.sentence.endswith("RuntimeError: 256 experts must be 512 columns")
    assert {cause.severity for cause in diagnosis.causes} == {"info"}
    alone = diagnosis_of(tmp_path, text[: text.index("[rank0]")])
    assert alone.causes[0].id == "module-missing"


def test_error_is_not_handled_where_python_ignores_the_one_after_it(tmp_path: Path) -> None:
    ignored = "Exception ignored in: <function Env.__del__ at 0x7c91>\n" + raised(
        "AttributeError: con"
    )
    text = raised(MISSING) + ignored + raised("EOFError")
    assert diagnosis_of(tmp_path, text).causes[0].id == "module-missing"


def test_evidence_is_the_message_and_not_the_source_of_its_raise(tmp_path: Path) -> None:
    text = raised(MISSING).replace(
        "run(x)", f'raise ModuleNotFoundError("No module named {chr(39)}sympyy{chr(39)}")'
    )
    (line,) = diagnosis_of(tmp_path, text).causes[0].evidence
    assert line.line == 4


def test_equal_errors_of_ranks_are_one_cause_with_their_number_and_no_fix(tmp_path: Path) -> None:
    own = "".join(raised("rl.BadBatch: no rows left", f"[rank{rank}]: ") for rank in range(4))
    text = own + "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    diagnosis = diagnosis_of(tmp_path, text)
    first = diagnosis.causes[0]
    assert (first.id, first.evidence[0].line, first.count, first.fix) == ("unknown-error", 4, 4, "")
    assert diagnosis.unknown == ()
    assert "Fix:" not in "\n".join(lines(diagnosis))


def test_errors_with_the_same_text_are_listed_once_with_their_number(tmp_path: Path) -> None:
    text = "".join(f"(Rollout pid={n}) ERROR no reward model\n" for n in range(4))
    printed = "\n".join(lines(diagnosis_of(tmp_path, text)))
    assert printed.count("pid=") == 1
    assert "    lines: 4\n" in printed


def test_image_that_a_registry_refuses_is_the_cause(tmp_path: Path) -> None:
    text = (
        "slurmstepd: error: pyxis: failed to import docker image\n"
        "slurmstepd: error: pyxis: printing enroot log file:\n"
        "slurmstepd: error: pyxis:     [ERROR] URL https://hub.lab/v2/rl/manifests/1 returned error code: 403 Forbidden\n"
        "slurmstepd: error: pyxis: couldn't start container\n"
    )
    first, *others = diagnosis_of(tmp_path, text).causes
    assert (first.id, first.evidence[0].line) == ("enroot-registry", 3)
    assert all(other.secondary for other in others)


def test_call_that_nccl_warns_of_is_the_cause_of_its_system_error(tmp_path: Path) -> None:
    text = (
        "n1:7:8 [2] misc/ibvwrap.cc:182 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Bad address\n"
        + raised("RuntimeError: NCCL Error 2: unhandled system error", "[rank2]: ")
    )
    first, *others = diagnosis_of(tmp_path, text).causes
    assert (first.id, first.evidence[0].line) == ("nccl-register", 1)
    assert [other.id for other in others if other.secondary] == ["nccl-system-error"]


def test_same_error_at_the_end_is_shown_with_its_last_line(tmp_path: Path) -> None:
    text = verl(0, 9) + raised(OOM) + verl(9, 40) + raised(OOM)
    first = diagnosis_of(tmp_path, text).causes[0]
    assert (first.id, first.severity, first.evidence[0].line) == ("cuda-oom", "error", 48)


def test_loss_that_is_not_a_number_stays_a_cause_while_the_training_continues(
    tmp_path: Path,
) -> None:
    text = "".join(f"step {n} loss: {'nan' if n > 9 else 0.1} grad_norm: 0.2\n" for n in range(60))
    assert diagnosis_of(tmp_path, text).causes[0].id == "nan-loss"


def test_warning_stays_one_beside_a_failure_and_where_nothing_follows(tmp_path: Path) -> None:
    alone = verl(0, 30) + LIMITED
    assert [cause.severity for cause in diagnosis_of(tmp_path, alone).causes] == ["warning"]
    failed = LIMITED + verl(0, 30) + raised(OOM)
    severities = {cause.id: cause.severity for cause in diagnosis_of(tmp_path, failed).causes}
    assert severities == {"cuda-oom": "error", "api-rate-limit": "warning"}


def test_settings_stay_warnings_while_the_program_continues(tmp_path: Path) -> None:
    text = "WARNING services.py:2009 -- WARNING: The object store is using /tmp instead of /dev/shm because /dev/shm has only 67108864 bytes available.\n"
    (cause,) = diagnosis_of(tmp_path, text + verl(0, 40)).causes
    assert (cause.id, cause.severity) == ("object-store-tmp", "warning")


@pytest.mark.parametrize(
    "after",
    [
        "(Reward pid=43) attempt 2/3 ok\n",
        "(Reward pid=42) attempt 2/3 failed\n",
        "(Reward pid=42) retry ok: False\n",
        "(Reward pid=42) attempt 2/3 ok\nsrun: error: n1: task 0: Exited with exit code 1\n",
    ],
)
def test_retry_of_another_process_or_of_a_failed_job_does_not_count(
    tmp_path: Path, after: str
) -> None:
    diagnosis = diagnosis_of(tmp_path, raised(MISSING, "(Reward pid=42) ") + after)
    assert (diagnosis.causes[0].id, diagnosis.causes[0].severity) == ("module-missing", "error")


HANDLING = "\nDuring handling of the above exception, another exception occurred:\n\n"
GET_TIMEOUT = raised("ray.exceptions.GetTimeoutError: Get timed out: some object(s) not ready.")


def test_timeout_that_says_for_what_it_waited_is_the_cause(tmp_path: Path) -> None:
    text = "TimeoutError: Timed out waiting for 4 engines"
    clear = raised(text).replace("run(x)", f'raise TimeoutError("{text[14:]}")')
    first, *others = diagnosis_of(tmp_path, GET_TIMEOUT + HANDLING + clear).causes
    assert (first.id, first.evidence[0].line) == ("unknown-error", 11)
    assert [(other.id, other.secondary) for other in others] == [("get-timeout", True)]


def test_accident_after_a_timeout_is_not_the_cause(tmp_path: Path) -> None:
    accident = raised("ValueError: not closed")
    assert diagnosis_of(tmp_path, GET_TIMEOUT + HANDLING + accident).causes[0].id == "get-timeout"


LOST = "(raylet, ip=10.0.0.7) The node with node id: 5f0 and address: 10.0.0.7 has been marked dead because the detector has missed too many heartbeats from it.\n"
WORKER = raised("AssertionError: no config is set", "(Engine pid=42) ")
DRIVER = raised("RuntimeError: weights were not updated").replace("in score", "in <module>")


def test_node_that_is_lost_after_the_end_of_the_driver_follows_from_it(tmp_path: Path) -> None:
    text = WORKER + DRIVER + LOST + "srun: error: n1: task 0: Exited with exit code 1\n"
    first, *others = diagnosis_of(tmp_path, text).causes
    assert (first.id, first.evidence[0].line) == ("unknown-error", 4)
    assert "node-dead" in [other.id for other in others if other.secondary]


@pytest.mark.parametrize("text", [LOST + WORKER + DRIVER, WORKER + LOST, DRIVER + LOST])
def test_node_that_is_lost_while_the_driver_runs_is_the_cause(tmp_path: Path, text: str) -> None:
    assert diagnosis_of(tmp_path, text).causes[0].id == "node-dead"
