"""One ranking of all candidates: causes before symptoms, consequences and lines that only point at an exception.

The logs have the shape of public reports, with made-up details; the line of the cause was written down before each was tried.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import frozen
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.rule_files import own_rules
from eagleray.doctor.texts import lines


@frozen
class RankedLog:
    """A log and a part of the line of its cause; `files` are of other ranks or nodes."""

    name: str
    cause: str
    files: tuple[str, ...]


WATCHDOG = (
    "[rank1]:[E1121 01:25:07.1 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective operation timeout:"
    " WorkNCCL(SeqNum=812, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n"
    "[rank1]:[E1121 01:25:07.9 ProcessGroupNCCL.cpp:2012] Rank 1\n"
    "\t - [1] Timeout at collective: ALLREDUCE, #812\n"
)
BEHIND = (
    "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
    "\t     [2] finished collective #811, but didn't join collective #812 (count from 1)\n"
)
WITHOUT_ID = (
    "[rank3]: torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0]"
    " via c10d key-value store by key '0', but store->get('0') got error: "
)
LOGS = (
    RankedLog(
        "PyTorch's report of ranks that are behind, after its watchdog",
        "[2] finished collective #811, but didn't join",
        (WATCHDOG + BEHIND,),
    ),
    RankedLog(
        "PyTorch's report of ranks that never joined",
        "ranks [2, 5] are the lagging ranks",
        (
            WATCHDOG
            + "\t - To our best knowledge, ranks [2, 5] are the lagging ranks that caused this timeout. They never joined any collectives\n",
        ),
    ),
    RankedLog(
        "exception of the rank that a report names",
        "ShardError: row 17 has no label",
        (
            "[rank2]: Traceback (most recent call last):\n"
            '[rank2]:   File "/work/train.py", line 30, in main\n'
            "[rank2]:     check(row)\n"
            "[rank2]: shards.ShardError: row 17 has no label\n" + WATCHDOG + BEHIND,
        ),
    ),
    RankedLog(
        "wait for the ID of a communicator",
        "[3] is setting up NCCL communicator",
        (WITHOUT_ID + "wait timeout after 600000ms, keys: /default_pg/0//cuda//0\n",),
    ),
    RankedLog(
        "exception of rank 0 before the lost ID of a communicator",
        "ShardError: row 17 has no label",
        (
            WITHOUT_ID + "Connection reset by peer\n",
            "[rank0]: Traceback (most recent call last):\n"
            '[rank0]:   File "/work/train.py", line 30, in main\n'
            "[rank0]:     check(row)\n"
            "[rank0]: shards.ShardError: row 17 has no label\n",
        ),
    ),
    RankedLog(
        "RLinf's pointer without the header of a traceback",
        "EOFError: Ran out of input",
        (
            "(EnvWorker pid=311) Exception occurred while running EnvWorker's function interact: Ran out of input\n"
            '(EnvWorker pid=311)   File "/opt/rl/workers/env_worker.py", line 88, in interact\n'
            "(EnvWorker pid=311)     reply = self.pipe.recv()\n"
            "(EnvWorker pid=311) EOFError: Ran out of input\n"
            "(EnvWorker pid=311) ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n",
        ),
    ),
    RankedLog(
        "SGLang's exception before sigquit and Killed",
        "ValueError: weight lm_head.bias has no slot",
        (
            "[2026-09-02 10:11:12 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
            '  File "/usr/lib/python3/dist-packages/sglang/srt/managers/scheduler.py", line 2311, in run_scheduler_process\n'
            "    scheduler.event_loop()\n"
            "ValueError: weight lm_head.bias has no slot\n"
            "\n"
            "[2026-09-02 10:11:12] Received sigquit from a child process. It usually means the child failed.\n"
            "run.sh: line 31:  4711 Killed                  python3 train.py --colocate\n",
        ),
    ),
    RankedLog(
        "a failure without a level before the consequence",
        "Failed to update parameter online: start (256) + length (256) exceeds dimension size (256)",
        (
            "[2026-09-02 10:11:12 DP0 TP2] Load weight end. mem usage=14.2 GB\n"
            "[2026-09-02 10:14:01 DP0 TP2] Failed to update parameter online: start (256) + length (256) exceeds dimension size (256)..\n"
            "[2026-09-02 10:14:01 DP0 TP2] step 4\n"
            "(RolloutManager pid=77) requests.exceptions.HTTPError: 500 Server Error: Internal Server Error for url: http://10.0.0.7:30000/update\n"
            "(raylet) ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n",
        ),
    ),
    RankedLog(
        "NCCL's own line has no time, and comes before those that have one",
        "Duplicate GPU detected",
        (
            "gpu-a:101:150 [0] init.cc:1 NCCL INFO comm 0x1 rank 0\n"
            "gpu-a:101:150 [0] init.cc:2 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1c000\n"
            "2026-09-02 10:14:01 ERROR next\n"
            "OSError: [Errno 24] Too many open files: 'x'\n",
        ),
    ),
    RankedLog(
        "torchrun's summary after the traceback of a rank",
        "mylib.ShardError: shard 7 of 8 is empty",
        (
            "[rank3]: Traceback (most recent call last):\n"
            '[rank3]:   File "/job/train.py", line 12, in main\n'
            "[rank3]:     load()\n"
            "[rank3]: mylib.ShardError: shard 7 of 8 is empty\n"
            "E0902 10:11:12.123000 900 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 3 (pid: 950) of binary: /usr/bin/python\n",
        ),
    ),
    RankedLog(
        "a killed process after an exception in another file, by time",
        "recipe.DataError: no rows for split train",
        (
            "2026-09-02 10:15:40 INFO waits\nrun.sh: line 8:  4711 Killed                  python3 serve.py\n",
            "2026-09-02 10:11:12 INFO reads\nTraceback (most recent call last):\n"
            '  File "/job/data.py", line 3, in rows\n    check()\n'
            "recipe.DataError: no rows for split train\n",
        ),
    ),
    RankedLog(
        "a killed process before the exceptions that follow from it",
        "Killed",
        (
            "2026-09-02 10:11:12 INFO step 4\n"
            "run.sh: line 8:  4711 Killed                  python3 serve.py\n"
            "2026-09-02 10:11:19 INFO waits\n"
            "Traceback (most recent call last):\n"
            '  File "/job/client.py", line 3, in ask\n    send()\n'
            "mylib.PeerLost: the server closed the stream\n",
        ),
    ),
    RankedLog(
        "an exit signal after the message of a crash",
        "AssertionError: micro batch 3 doesn't divide 8",
        (
            "Traceback (most recent call last):\n"
            '  File "/job/train.py", line 40, in step\n    assert size % micro == 0, f"micro batch {micro}"\n'
            "AssertionError: micro batch 3 doesn't divide 8\n"
            "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGABRT\n"
            "srun: error: gpu-7: task 2: Killed\n",
        ),
    ),
    RankedLog(
        "a segmentation fault after an exception in the same process",
        "mylib.KernelError: block size 48 is not a power of two",
        (
            "(Worker pid=9) Traceback (most recent call last):\n"
            '(Worker pid=9)   File "/job/kernel.py", line 4, in launch\n'
            "(Worker pid=9)     raise KernelError\n"
            "(Worker pid=9) mylib.KernelError: block size 48 is not a power of two\n"
            "(Worker pid=9) Fatal Python error: Segmentation fault\n",
        ),
    ),
    RankedLog(
        "vLLM's engine after a worker's own exception",
        "TypeError: rope() got an unexpected keyword argument 'scaling'",
        (
            "(EngineCore_DP0 pid=7) ERROR 09-02 01:25:07 [core.py:515] EngineCore failed to start.\n"
            "(EngineCore_DP0 pid=7) ERROR 09-02 01:25:07 [core.py:515] Traceback (most recent call last):\n"
            '(EngineCore_DP0 pid=7) ERROR 09-02 01:25:07 [core.py:515]   File "/v/core.py", line 5, in run\n'
            "(EngineCore_DP0 pid=7) ERROR 09-02 01:25:07 [core.py:515]     rope(scaling=1)\n"
            "(EngineCore_DP0 pid=7) ERROR 09-02 01:25:07 [core.py:515] TypeError: rope() got an unexpected keyword argument 'scaling'\n"
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
        ),
    ),
    RankedLog(
        "a worker that failed to start says its reason below",
        "ImportError: cannot import name 'PackedTensor' from 'mylib.pack'",
        (
            "ray.exceptions.ActorDiedError: The actor died because of an error raised in its creation task, ray::Policy.__init__() (pid=5, ip=10.0.0.2)\n"
            '  File "/job/policy.py", line 2, in __init__\n'
            "    from mylib.pack import PackedTensor\n"
            "ImportError: cannot import name 'PackedTensor' from 'mylib.pack' (/opt/mylib/pack.py)\n",
        ),
    ),
    RankedLog(
        "a pointer's frames behind a prefix, without the header of a traceback, before Killed",
        "EOFError",
        (
            "[2026-09-02 10:11:12] worker-0 >> Exception occurred while running EnvWorker's function interact: exception is ray::EnvWorker.interact() (pid=19, ip=10.0.0.7)\n"
            "[2026-09-02 10:11:12] worker-0 >>            ^^^^^^^^^^^^^^^^^^\n"
            '[2026-09-02 10:11:12] worker-0 >>   File "/opt/rl/envs/venv.py", line 98, in recv\n'
            "[2026-09-02 10:11:12] worker-0 >>     result = self.remote.recv()\n"
            "[2026-09-02 10:11:12] worker-0 >> EOFError\n"
            "[2026-09-02 10:11:13] worker-0 >> The actor is dead because it was killed by `ray.kill`.\n"
            "run.sh: line 31:  4711 Killed                  python3 train.py --colocate\n",
        ),
    ),
    RankedLog(
        "an exception that says that another one is the root cause",
        "RuntimeError: engine 3 has no peer",
        (
            "(Worker_TP3 pid=13) ERROR 09-02 10:11:12 [multiproc_executor.py:870] Traceback (most recent call last):\n"
            '(Worker_TP3 pid=13) ERROR 09-02 10:11:12 [multiproc_executor.py:870]   File "/v/worker.py", line 8, in main\n'
            "(Worker_TP3 pid=13) ERROR 09-02 10:11:12 [multiproc_executor.py:870] RuntimeError: engine 3 has no peer\n"
            "(EngineCore pid=12) ERROR 09-02 10:11:12 [core.py:1195] EngineCore failed to start.\n"
            "(EngineCore pid=12) ERROR 09-02 10:11:12 [core.py:1195] Traceback (most recent call last):\n"
            '(EngineCore pid=12) ERROR 09-02 10:11:12 [core.py:1195]   File "/v/core.py", line 9, in run\n'
            "(EngineCore pid=12) ERROR 09-02 10:11:12 [core.py:1195] Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause.\n",
        ),
    ),
    RankedLog(
        "a worker that has ended while it started points at its own error",
        "Version mismatch",
        (
            "(raylet) [2026-09-02 10:11:12,133 E 10 10] (raylet) worker_pool.cc:586: Some workers of the worker process(33) have not registered within the timeout. The process is dead, probably it crashed during start.\n"
            "(raylet) Traceback (most recent call last):\n"
            '(raylet)   File "/v/ray/_private/utils.py", line 11, in check_version_info\n'
            "(raylet) RuntimeError: Version mismatch: The cluster was started with:\n"
            "(raylet)     Ray: 2.53.0\n",
        ),
    ),
    RankedLog(
        "an abort whose reason is in a line without a level",
        "Cannot load symbol cublasLtGetVersion",
        (
            "(WorkerDict pid=23) step 5\n"
            "(WorkerDict pid=23) Invalid handle. Cannot load symbol cublasLtGetVersion\n"
            "(WorkerDict pid=23) *** SIGABRT received at time=1773825404 on cpu 49 ***\n"
            "(WorkerDict pid=23) Fatal Python error: Aborted\n"
            "(raylet) A worker died or was killed while executing a task by an unexpected system error.\n",
        ),
    ),
    RankedLog(
        "settings that aren't valid, with their reason in the next line",
        "model type `glyph`",
        (
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
            "  Value error, The checkpoint you are trying to load has model type `glyph` but Transformers does not recognize this architecture.\n",
        ),
    ),
    RankedLog(
        "lines of one file by their place, whatever their clocks say",
        "Too many open files",
        (
            "2026-09-02 10:14:01 INFO a\n"
            "OSError: [Errno 24] Too many open files: 'x'\n"
            "2026-09-02 02:14:00 INFO of a node with UTC\n"
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has\n",
        ),
    ),
    *(
        RankedLog(
            f"exception of a process before what misses it: {missing[:30]}",
            "BadOption: no such choice",
            (
                "Traceback (most recent call last):\n"
                '  File "/opt/conda/bin/ray", line 8, in <module>\n'
                "    sys.exit(main())\n"
                "options.BadOption: no such choice\n"
                "srun: error: gpu-7: task 0: Exited with exit code 1\n"
                "Traceback (most recent call last):\n"
                '  File "/work/train.py", line 30, in main\n'
                "    connect()\n" + missing,
            ),
        )
        for missing in (
            "ConnectionError: Could not find any running Ray instance.\n",
            "RuntimeError: Failed to connect to GCS at address 10.0.0.1:6379 within 5 seconds.\n",
            "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (a, 1).\n",
        )
    ),
)


def diagnosis_of(folder: Path, files: tuple[str, ...]) -> Diagnosis:
    for number, text in enumerate(files):
        (folder / f"worker-{number}.err").write_text(text)
    logs, unchecked = list_logs([folder])
    return diagnose(logs, own_rules(), unchecked)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_cause_comes_before_what_points_at_it_or_follows(tmp_path: Path, log: RankedLog) -> None:
    diagnosis = diagnosis_of(tmp_path, log.files)

    assert log.cause in diagnosis.causes[0].evidence[0].text
    assert not diagnosis.causes[0].secondary


def test_samples_hide_no_error_outside_of_them(tmp_path: Path) -> None:
    own = "(Trainer pid=7) "
    error = f"{own}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    samples = f"{own}[response] 7\n{own}[score] 0.0\n"
    other = error.replace("pid=7", "pid=8")
    for text in (
        samples + error,
        f"{own}[response] 7\n{error}",
        f"{own}[response] 7\n{other}{samples}",
    ):
        assert diagnosis_of(tmp_path, (text,)).causes[0].id == "cuda-oom"


@pytest.mark.parametrize(
    ("nodes", "fix"),
    [
        ((", ip=10.0.0.3",) * 2, "Only 10.0.0.3 reports it: check that all nodes share this path."),
        ((", ip=10.0.0.3", ", ip=10.0.0.4"), ""),
        ((", ip=10.0.0.3", ""), ""),
    ],
)
def test_path_that_only_some_nodes_lack(tmp_path: Path, nodes: tuple[str, ...], fix: str) -> None:
    log = "".join(
        f"(Policy pid={pid}{node}) {line}\n"
        for pid, node in enumerate(nodes)
        for line in (
            "Traceback (most recent call last):",
            '  File "/w/train.py", line 9, in load',
            "    read(path)",
            "FileNotFoundError: Model path /data/step_2 does not exist",
        )
    )
    diagnosis = diagnosis_of(tmp_path, (log,))
    assert fix in diagnosis.raised
    assert ("Only" in diagnosis.raised) is bool(fix)


def test_survived_failure_has_no_note_on_what_follows_from_it(tmp_path: Path) -> None:
    steps = "".join(f"step:{n} - loss:0.2\n" for n in range(40))
    log = (
        "slurmstepd: error: *** JOB 7 ON n-1 CANCELLED AT 2026-11-23T01:31:00 DUE TO PREEMPTION ***\n"
        "srun: Job step aborted: Waiting up to 92 seconds for job step to finish.\n"
    )
    causes = diagnosis_of(tmp_path, (log + steps,)).causes
    assert [(cause.id, cause.severity) for cause in causes] == [("slurm-preempted", "info")]


def test_exception_of_a_map_function_is_named_before_what_ray_data_makes_of_it(
    tmp_path: Path,
) -> None:
    text = (
        '2026-09-02 10:11:12,399\tERROR streaming_executor_state.py:583 -- An exception was raised from a task of operator "MapBatches(clean)".\n'
        "Traceback (most recent call last):\n"
        '  File "/job/etl.py", line 41, in <module>\n'
        "ray.exceptions.RayTaskError(UserCodeException): ray::MapBatches(clean)() (pid=71, ip=10.0.0.1)\n"
        '  File "/job/etl.py", line 22, in clean\n'
        "ValueError: could not convert string to float: 'n/a'\n"
        "\nThe above exception was the direct cause of the following exception:\n\n"
        "ray::MapBatches(clean)() (pid=71, ip=10.0.0.1)\n"
        '  File "/v/ray/data/plan_udf_map_op.py", line 511, in _handle\n'
        "ray.data.exceptions.UserCodeException\n"
    )
    diagnosis = diagnosis_of(tmp_path, (text,))
    assert diagnosis.sentence.endswith("ValueError: could not convert string to float: 'n/a'")
    assert diagnosis.raised == "Raised in clean (etl.py:22)."
    assert diagnosis.unknown[0].line == 6


def test_sentence_has_no_level_of_a_logger_before_the_exception(tmp_path: Path) -> None:
    level = "ERROR 09-02 10:11:12 [launcher.py:124] "
    lines = [
        "Explorer or Trainer failed:",
        "Traceback (most recent call last):",
        '  File "/job/launcher.py", line 78, in both',
        "ray.exceptions.ActorDiedError: The actor died because of an error raised in its creation task, ray::Trainer.__init__() (pid=1)",
        '  File "/job/verl_config.py", line 311, in convert',
        "ValueError: 7 rows for 8 GPUs",
    ]
    diagnosis = diagnosis_of(tmp_path, ("".join(f"{level}{line}\n" for line in lines),))
    assert diagnosis.sentence == "ValueError: 7 rows for 8 GPUs"


SURVIVED = (
    "Error during comparison\n"
    "Traceback (most recent call last):\n"
    '  File "/v/math_verify/grader.py", line 811, in compare\n'
    "math_verify.errors.TimeoutException: Operation timed out!\n"
    + "".join(f"step {n} loss 0.3\n" for n in range(60))
)
FINAL = 'Traceback (most recent call last):\n  File "/job/train.py", line 9, in main\nrl.BadBatch: no rows left\n'


@pytest.mark.parametrize("times", [3, 30])
@pytest.mark.parametrize(
    "end", ["", "(raylet) A worker died or was killed while executing a task\n"]
)
def test_exception_that_its_process_has_survived_gives_way_to_the_last_one(
    tmp_path: Path, times: int, end: str
) -> None:
    diagnosis = diagnosis_of(tmp_path, (SURVIVED * times + FINAL + end,))
    assert diagnosis.sentence.endswith("rl.BadBatch: no rows left")


def test_last_exception_is_named_after_many_lines_with_an_error_level(tmp_path: Path) -> None:
    noise = "2026-09-02 10:11:12 ERROR plugins.py:3 -- request 7 has status 500\nstep 1\n" * 5000
    diagnosis = diagnosis_of(tmp_path, (noise + FINAL,))
    assert diagnosis.sentence.endswith("rl.BadBatch: no rows left")
    assert diagnosis.unknown[0].line == 10_003


PIP_BUILD = (
    "      Traceback (most recent call last):\n"
    '        File "/tmp/pip-build-env-8gq1/overlay/lib/python3.12/site-packages/setuptools/build_meta.py", line 317, in run_setup\n'
    "          exec(code, locals())\n"
    '        File "<string>", line 22, in <module>\n'
    "      ModuleNotFoundError: No module named 'torch'\n"
)
UV_BUILD = (
    "(raylet)   × Failed to build `flash-attn==2.8.3`\n"
    "(raylet)   ├─▶ The build backend returned an error\n"
    "(raylet)       ModuleNotFoundError: No module named 'torch'\n"
)
RUN = (
    "(raylet)   × Failed to build `flash-attn==2.8.3`\n"
    + "step\n" * 90
    + "ModuleNotFoundError: No module named 'torch'\n"
)


@pytest.mark.parametrize(
    ("text", "is_in_build"), [(PIP_BUILD, True), (UV_BUILD, True), (RUN, False)]
)
def test_module_that_a_build_lacks_is_installed_before_it(
    tmp_path: Path, text: str, is_in_build: bool
) -> None:
    first = diagnosis_of(tmp_path, (text,)).causes[0]
    assert (first.id, "--no-build-isolation" in first.fix) == ("module-missing", is_in_build)


def test_errors_of_programs_in_go_come_after_others(tmp_path: Path) -> None:
    text = (
        'otel-1     | time=2026-11-21T01:25:01Z level=error msg="Exporting failed. Dropping data." component=exporter\n'
        "trainer-1  | 2026-11-21 01:25:09 ERROR trainer: the reward server returned no scores\n"
    )
    unknown = diagnosis_of(tmp_path, (text,)).unknown
    assert [each.worker for each in unknown] == ["trainer-1", "otel-1"]


def test_exception_that_its_program_says_it_has_handled_is_not_listed(tmp_path: Path) -> None:
    text = (
        "2026-11-21 01:25:03 WARNING loader: Failed to load the fast tokenizer, falling back to the slow one\n"
        'Traceback (most recent call last):\n  File "/work/tok.py", line 12, in fast\n    return native.load(path)\n'
        "tokz.FormatError: version 7 isn't supported\n"
        "2026-11-21 01:26:04 INFO step 1\n"
        'Traceback (most recent call last):\n  File "/work/train.py", line 30, in main\n    check(row)\n'
        "shards.ShardError: row 17 has no label\n"
    )
    unknown = diagnosis_of(tmp_path, (text,)).unknown
    assert [each.text for each in unknown] == ["shards.ShardError: row 17 has no label"]
    # It may have been the last one of several attempts.
    alone = diagnosis_of(tmp_path, ("".join(text.splitlines(True)[:6]),)).unknown
    assert [each.text for each in alone] == ["tokz.FormatError: version 7 isn't supported"]


def test_literal_beside_the_name_of_a_level_is_matched(tmp_path: Path) -> None:
    plain = "2026-11-21 01:25:{n:02d} INFO metrics n_ERROR=0 retries {n}\n"
    text = "".join(plain.format(n=n) for n in range(60))
    text += "2026-11-21 01:26:01 INFO metrics n_ERROR=0 retries 3 after OSError: [Errno 24] Too many open files: 'x'\n"
    diagnosis = diagnosis_of(tmp_path, (text + "2026-11-21 01:26:02 ERROR the end\n",))
    assert [each.evidence[0].line for each in diagnosis.causes] == [61]
    assert [each.text for each in diagnosis.unknown] == ["2026-11-21 01:26:02 ERROR the end"]


def logged(*texts: str) -> str:
    prefix = "(Worker_TP3 pid=91) ERROR 11-21 01:25:07 [multiproc_executor.py:932] "
    return "".join(f"{prefix}{text}\n" for text in texts)


def test_message_of_a_logged_exception_is_not_an_error_of_its_own(tmp_path: Path) -> None:
    text = logged(
        "Traceback (most recent call last):",
        '  File "/opt/torch/_inductor/post_grad.py", line 1288, in decompose',
        "    graph_pass.apply(graph)",
        "torch._inductor.exc.InductorError: AssertionError: a kernel was not removed",
        "",
        "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace. For even more context, set TORCH_LOGS.",
    )
    text += (
        "(EngineCore pid=89) ERROR 11-21 01:25:08 [core.py:1108] EngineCore failed to start.\n"
        "(EngineCore pid=89) RuntimeError: Worker failed with error 'a kernel was not removed',"
        " please check the stack trace above for the root cause\n"
    )
    first = diagnosis_of(tmp_path, (text,)).causes[0]
    assert first.id == "torch-compile-failed"


def test_shapes_that_differ_while_weights_are_loaded_are_not_samples(tmp_path: Path) -> None:
    text = (
        'Traceback (most recent call last):\n  File "/opt/rl/hf_load.py", line 402, in _load_weight_with_bridge\n'
        "    param.copy_(converted)\n"
        "RuntimeError: The size of tensor a (1024) must match the size of tensor b (2048) at non-singleton dimension 0\n"
    )
    first = diagnosis_of(tmp_path, (text,)).causes[0]
    assert (first.id, first.fix[:30]) == ("tensor-shapes", "A weight doesn't fit the model")


def test_statement_of_a_time_limit_comes_before_the_watchdog(tmp_path: Path) -> None:
    text = " ## ring_broadcast: rank 1 timed out waiting for acknowledgement of rank 0 (30000 ms)\n"
    first = diagnosis_of(tmp_path, (text + WATCHDOG,)).causes[0]
    assert (first.id, first.evidence[0].line) == ("unknown-error", 1)


def test_line_of_a_node_without_times_keeps_its_place_in_the_file(tmp_path: Path) -> None:
    text = (
        "(RayWorkerWrapper pid=584, ip=10.2.1.18) k8s17:584:2512 [3] misc/ibvwrap.cc:226 NCCL WARN Call to ibv_modify_qp failed"
        " with 110 Connection timed out, on dev mlx5_0:1\n"
        + "(Other pid=1) 2026-11-21 01:25:07 INFO waits\n" * 120
        + "(EngineCore_DP0 pid=310) ERROR 11-21 01:25:11 [core.py:866] RuntimeError: NCCL error: unhandled system error\n"
    )
    first = diagnosis_of(tmp_path, (text,)).causes[0]
    assert first.evidence[0].line == 1


def test_exception_of_a_pasted_part_has_its_frames(tmp_path: Path) -> None:
    text = (
        "Loading:  12%|#         | 11/94\n"
        'File "/opt/swift/gpt_bridge.py", line 858, in _set_mlp_state\n'
        "    weight = state['gate_up_proj'].load()\n"
        "shards.ShardError: row 17 has no label\n"
    )
    assert diagnosis_of(tmp_path, (text,)).raised == "Raised in _set_mlp_state (gpt_bridge.py:858)."


def test_memory_that_cannot_be_registered_is_a_limit_of_locked_memory(tmp_path: Path) -> None:
    text = "E1211 08:45:02.411820  8743 rdma_context.cpp:330] Failed to register memory 0x7f1a: Cannot allocate memory [12]\n"
    assert [each.id for each in diagnosis_of(tmp_path, (text,)).causes] == ["nccl-memlock"]


def test_exception_is_the_sentence_where_causes_only_warn(tmp_path: Path) -> None:
    text = (
        "(WorkerDict pid=7) [2026-12-17 03:01:07,4 E 1 2] core_worker_process.cc:837: Failed to establish connection to the"
        " metrics exporter agent. Metrics will not be exported.\n"
        "(Policy pid=8) Traceback (most recent call last):\n"
        '(Policy pid=8)   File "/opt/train.py", line 251, in broadcast\n'
        "(Policy pid=8) shards.ShardError: row 17 has no label\n"
    )
    diagnosis = diagnosis_of(tmp_path, (text,))

    assert "shards.ShardError" in diagnosis.sentence
    assert diagnosis.raised == "Raised in broadcast (train.py:251)."
    shown = lines(diagnosis)
    assert "ShardError" in shown[1]
    assert next(at for at, line in enumerate(shown) if "metrics" in line) > 2


def test_worker_that_was_stopped_on_purpose_has_not_crashed(tmp_path: Path) -> None:
    text = (
        "(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem,"
        " check the logs for the dead worker. Worker ID: ab Node ID: cd Worker PID: 70115 Worker exit type:"
        " INTENDED_SYSTEM_EXIT Worker exit detail: Worker exits by ray.kill.\n"
    )
    assert diagnosis_of(tmp_path, (text,)).causes == ()


def test_exception_in_a_handler_of_logging_has_no_effect(tmp_path: Path) -> None:
    text = (
        "1: --- Logging error ---\n1: Traceback (most recent call last):\n"
        '1:   File "/usr/lib/python3.12/logging/__init__.py", line 1160, in emit\n'
        "1:     stream.write(msg + self.terminator)\n"
        "1: OSError: [Errno 116] Stale file handle\n1: Call stack:\n"
        "1: {'loss': 0.41, 'epoch': 1.0}\n"
    )
    diagnosis = diagnosis_of(tmp_path, (text,))
    assert (diagnosis.causes, diagnosis.unknown) == ((), ())
