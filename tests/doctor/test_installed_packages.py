"""Exceptions that no rule explains: the message's own advice, the condition in the installed package, versions of packages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from eagleray.doctor import texts
from eagleray.doctor.advice import advice_for, advice_in, message_at
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.installed_packages import InstalledPackages
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.rule_files import own_rules
from eagleray.remote.sampling.frames import PythonFrame

ENGINE = '''
def check(start, length, size):
    """Parts of a weight."""
    if length == 0:
        return
    if start + length > size:
        raise ValueError(
            f"start ({start}) + length ({length}) exceeds the size of the part ({size})."
            " Use a smaller --parts."
        )
    elif start < 0:
        raise ValueError("start (%d) of the part is negative" % start)
    else:
        assert size % 8 == 0, f"part of {size} isn't a multiple of eight"
    try:
        load()
    except OSError as error:
        raise ValueError("the part can't be read from its file") from error
    raise ValueError("a part without any condition above it")
'''
FRAME = '  File "/opt/conda/lib/python3.11/site-packages/shardlib/{file}", line {line}, in check\n    x()\n'
DIED = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"


def _packages(folder: Path, module: str = ENGINE) -> InstalledPackages:
    packages = folder / "lib/python3.12/site-packages"
    (packages / "shardlib").mkdir(parents=True)
    (packages / "shardlib/parts.py").write_text(module)
    for name in ("shardlib-1.4.2", "other_lib-0.9"):
        (packages / f"{name}.dist-info").mkdir()
    return InstalledPackages([packages])


def _diagnose(
    folder: Path, exception: str, file: str = "parts.py", line: int = 7, after: str = ""
) -> Diagnosis:
    log = folder / "train.log"
    header = "Traceback (most recent call last):\n"
    log.write_text(f"{header}{FRAME.format(file=file, line=line)}{exception}\n{after}")
    files, _ = list_logs([log])
    installed = InstalledPackages(sorted(folder.glob("lib/python3*/site-packages")))
    return diagnose(files, own_rules(), installed=installed)


@pytest.mark.parametrize(
    ("message", "condition", "at"),
    [
        (
            "ValueError: start (256) + length (256) exceeds the size of the part (256). Use a smaller --parts.",
            "start + length > size",
            7,
        ),
        ("ValueError: start (-3) of the part is negative", "start < 0", 12),
        (
            "AssertionError: part of 12 isn't a multiple of eight",
            "not size % 8 == 0",
            14,
        ),
        ("ValueError: the part can't be read from its file", "", 0),
        ("ValueError: a part without any condition above it", "", 0),
        ("ValueError: something else", "", 0),
    ],
)
def test_condition_above_the_raise_explains_an_exception(
    tmp_path: Path, message: str, condition: str, at: int
) -> None:
    _packages(tmp_path)

    raised = _diagnose(tmp_path, message, line=99).raised

    assert raised.startswith("Raised in check (parts.py:99).")
    expected = f"Raised where `{condition}` (shardlib/parts.py:{at}, shardlib 1.4.2 here)."
    assert (expected in raised) if condition else ("Raised where" not in raised)


def test_same_text_at_two_places_is_decided_by_the_line(tmp_path: Path) -> None:
    text = "raise ValueError('the part is too large')\n"
    _packages(tmp_path, f"if first:\n    {text}if second:\n    {text}")
    message = "ValueError: the part is too large"

    assert "`second`" in _diagnose(tmp_path, message, line=4).raised
    assert "Raised where" not in _diagnose(tmp_path, message, line=40).raised


@pytest.mark.parametrize(
    "file", ["../../../outside.py", "pipe.py", "large.py", "deep.py", "bad.py"]
)
def test_module_that_is_not_an_ordinary_text_of_python_explains_nothing(
    tmp_path: Path, file: str
) -> None:
    folder = _packages(tmp_path).folders[0]
    (tmp_path / "outside.py").write_text(ENGINE)
    os.mkfifo(folder / "shardlib/pipe.py")
    (folder / "shardlib/large.py").write_text(ENGINE + "#" * 20_000_000)
    (folder / "shardlib/deep.py").write_text(f"{ENGINE}\nx = {'(' * 5000}1{')' * 5000}\n")
    (folder / "shardlib/bad.py").write_bytes(b"\xff\x00" + ENGINE.encode())

    diagnosis = _diagnose(tmp_path, "ValueError: start (-3) of the part is negative", file)

    assert "Raised where" not in diagnosis.raised


def test_warnings_of_a_module_are_not_printed(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    _packages(tmp_path, "DIGIT = '\\d'\nif bad:\n    raise ValueError('no such part of it')\n")

    assert "`bad`" in _diagnose(tmp_path, "ValueError: no such part of it").raised
    assert not recwarn.list


def test_condition_that_is_nested_too_deeply_is_left_out(tmp_path: Path) -> None:
    sums = " + ".join(["value"] * 5000)
    _packages(tmp_path, f"if {sums}:\n    raise ValueError('no such part of it')\n")

    assert "Raised where" not in _diagnose(tmp_path, "ValueError: no such part of it").raised


def test_module_is_not_executed(tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    _packages(
        tmp_path, f"open({str(mark)!r}, 'w')\nif bad:\n    raise ValueError('no such part of it')\n"
    )

    assert "`bad`" in _diagnose(tmp_path, "ValueError: no such part of it").raised
    assert not mark.exists()


def test_condition_is_shown_without_secrets_and_short(tmp_path: Path) -> None:
    token = "sk-abcdefghijklmnopqrstuvwx1234"
    many = " and ".join(f"value_{number}" for number in range(200))
    _packages(
        tmp_path, f"if key == {token!r} and {many}:\n    raise ValueError('no such part of it')\n"
    )

    raised = _diagnose(tmp_path, "ValueError: no such part of it").raised

    assert "Raised where `key =… '…'" in raised
    assert token not in raised
    assert len(raised) < 400


@pytest.mark.parametrize(
    "exception",
    [
        "ImportError: cannot import name 'Part' from 'other_lib.parts' (/x/other_lib/parts.py)",
        "AttributeError: module 'other_lib.parts' has no attribute 'Part'",
    ],
)
def test_missing_name_has_the_versions_of_both_packages(tmp_path: Path, exception: str) -> None:
    _packages(tmp_path)

    raised = _diagnose(tmp_path, exception).raised

    assert raised.endswith("Installed here: shardlib 1.4.2, other_lib 0.9.")


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            "ValueError: The length (8192) exceeds the cache (2400). Try increasing `memory_share` or decreasing `length`.",
            "Try increasing `memory_share` or decreasing `length`.",
        ),
        (
            "ImportError: shardlib isn't here, please install it",
            "shardlib isn't here, please install it",
        ),
        ("ValueError: parts 8 exceeds 4. Use --parts 4 instead.", "Use --parts 4 instead."),
        ("ValueError: Unknown backend 'glo'. Did you mean 'gloo'?", "Did you mean 'gloo'?"),
        (
            "ValueError: no size\nSet `size` in the configuration.",
            "Set `size` in the configuration.",
        ),
        ("mine.Bad: pass token=sk-abcdefghijklmnopqrstuvwx1234 to it", "pass token=… to it"),
    ],
)
def test_advice_of_a_message_is_quoted_as_the_fix(
    tmp_path: Path, message: str, advice: str
) -> None:
    alone = _diagnose(tmp_path, message)
    before_consequence = _diagnose(tmp_path, message, after=f"\n{DIED}")

    shown = f'The message says: "{advice}"'
    if alone.causes:
        # A rule explains it.
        return
    assert alone.raised.endswith(shown)
    assert before_consequence.causes[0].fix == shown
    assert f"  Fix: {shown}" in texts.lines(before_consequence)


@pytest.mark.parametrize(
    "message",
    [
        "KeyError: 'use'",
        "TypeError: step() missing 1 required positional argument: 'add'",
        "ValueError: cannot change dtype, check failed",
        "OSError: failed to set up the device",
        "RuntimeError: CUDA error: invalid\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "mine.Bad: 7 rows\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.",
    ],
)
def test_message_without_advice_has_none(message: str) -> None:
    assert advice_in(message.split("\n")) == ""


def test_message_ends_before_the_next_record() -> None:
    lines = ["mine.Bad: 7 rows", "of 8", "INFO 11-21 01:25:07 [core.py:10] Use --fast", "Set x"]

    assert message_at(lines, 0) == ["mine.Bad: 7 rows", "of 8"]


@pytest.mark.parametrize(
    ("text", "file", "advice"),
    [
        (
            "AssertionError (assert len(cur_uids) <= self.max_loras_per_batch)",
            "/opt/lora.py",
            "The assertion is about max_loras_per_batch: check this setting.",
        ),
        (
            "NotImplementedError: a quantized cache is not supported for encoders",
            "/opt/attention.py",
            "This combination isn't supported: change the setting that the message names.",
        ),
        (
            "RuntimeError: Failed after 1 retries. Addr: 10.1.68.7:11220.",
            "/opt/http.py",
            "Read the log of the server at 10.1.68.7:11220.",
        ),
        (
            "TypeError: cannot unpack non-iterable NoneType object",
            "/sgl-workspace/sglang/python/sglang/srt/moe.py",
            "Check that the version of sglang fits, or search its issues.",
        ),
        (
            "NotImplementedError: receiving by IPC is not yet implemented",
            "/opt/sync.py",
            "This isn't implemented: choose another option or a newer version.",
        ),
        ("TypeError: cannot unpack non-iterable NoneType object", "/home/me/train.py", ""),
        (
            "TypeError: accuracy() missing 1 required positional argument: 'answer'",
            "/opt/site-packages/trl/trainer/grpo_trainer.py",
            "",
        ),
        (
            "TypeError: accuracy() missing 1 required positional argument: 'answer'",
            "/home/me/train.py",
            "Pass answer to accuracy().",
        ),
        ("AssertionError (assert labels.shape == rows)", "/opt/site-packages/x/y.py", ""),
        (
            "TimeoutError: Timed out waiting for placement groups to be ready. The cluster may not have sufficient resources.",
            "/opt/nemo-rl/nemo_rl/cluster.py",
            "Compare it with `ray status`: wait for nodes, or request less.",
        ),
        (
            "Error: Timed out waiting for head node to start.",
            "/opt/ray/symmetric_run.py",
            "Check that head node runs, and that this node reaches it.",
        ),
        (
            "EOFError",
            "/usr/lib/python3.11/multiprocessing/connection.py",
            "The process behind this pipe has ended: find its error, or a kill in dmesg.",
        ),
        ("EOFError", "/home/me/train.py", ""),
        (
            "AssertionError (assert self.is_idle())",
            "/opt/scheduler.py",
            "Call step() only while this is true: self.is_idle().",
        ),
        (
            "AssertionError (assert self.decay_steps > 0)",
            "/opt/site-packages/vllm/a.py",
            "self.decay_steps > 0 isn't true: check the settings it is computed from.",
        ),
        ("TypeError: unsupported operand type(s) for +: 'A' and 'list'", "/home/me/a.py", ""),
        (
            "KeyError: 'solution' (x = data_item.non_tensor_batch['solution'])",
            "/home/me/a.py",
            "The rows of the data set need a column solution.",
        ),
        ("KeyError: 'solution' (x = config['solution'])", "/home/me/a.py", ""),
        ("RuntimeError: the paths differ", "/opt/site-packages/ray/train/a.py", ""),
        ("AssertionError: the size must be 8", "/opt/site-packages/vllm/a.py", ""),
        ("AssertionError: no config is set", "/opt/site-packages/vllm/a.py", ""),
        ("ValueError: two ranks have it", "/opt/nemo-rl/nemo_rl/refit.py", ""),
    ],
)
def test_message_without_advice_has_the_next_step_of_its_kind(
    text: str, file: str, advice: str
) -> None:
    assert advice_for([text], text, [PythonFrame("step", file, 3)]) == advice


def test_library_that_another_one_calls_is_named_with_it() -> None:
    frames = [
        PythonFrame("main", "/home/me/pretrain.py", 3),
        PythonFrame("route", "/opt/megatron-lm/megatron/core/router.py", 9),
        PythonFrame("apply", "/opt/site-packages/torch/autograd/function.py", 9),
        PythonFrame("forward", "/opt/site-packages/transformer_engine/router.py", 9),
    ]
    text = "RuntimeError: /opt/te/fused.cu:90 in function f: Assertion failed: rows == columns."
    assert advice_for([text], text, frames) == (
        "Check that the versions of megatron and transformer_engine fit."
    )
    lookup = "ValueError: two ranks have it"
    assert advice_for([lookup], lookup, frames) == ""


def test_entry_that_a_checkpoint_lacks_is_named() -> None:
    text = "KeyError: 'optimizer'"
    frames = [PythonFrame("load_checkpoint", "/opt/megatron-lm/megatron/checkpointing.py", 9)]
    assert advice_for([text], f"{text} (load(state['optimizer']))", frames) == (
        "The checkpoint lacks optimizer: load it without, or save it with it."
    )


def test_reward_function_without_its_column_is_explained() -> None:
    text = "TypeError: accuracy() missing 1 required positional argument: 'answer'"
    frames = [
        PythonFrame("_calculate_rewards", "/opt/site-packages/trl/trainer/grpo_trainer.py", 3)
    ]
    assert advice_for([text], text, frames) == (
        "Give the data set a column answer, or the parameter a default."
    )
