"""A value whose text doesn't end keeps no other variable away; tensors and arrays are shown with their shape."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from eagleray.adapter.sessions import value_texts

from tests.adapter.harness import ControlClient
from tests.adapter.test_stops import Start, on_each_python
from tests.dap_client import DapClient
from tests.shared_clusters import TORCH_PYTHON


@on_each_python
def test_variables_are_shown_beside_one_with_an_endless_text(
    control: ControlClient, program: Start
) -> None:
    worker = program("values.py")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    frame = editor.stack()[0]["id"]
    for _ in range(2):
        shown = editor.variables(frame)
        assert (shown["first"], shown["loss"]) == ("1", "{'loss': 2.5}")
        for name, kind in (("endless", "Endless"), ("again", "Endless"), ("storage", "Storage")):
            assert shown[name] == f"<__main__.{kind}: its text takes longer than 0.5 s>"
        assert shown["stubborn"] == "Stubborn()"
    editor.request("continue", threadId=1)
    assert "done" in worker.wait_done()


SHOWN = """
import sys
import debugpy, numpy, torch
from debugpy._vendored import force_pydevd
exec(compile(open(sys.argv[1]).read(), "value_texts", "exec"))
bound_values(None)
from _pydevd_bundle.pydevd_safe_repr import SafeRepr
show, copy = SafeRepr(), SafeRepr()
copy.maxother_outer = 2**64
for value in (torch.zeros(2, 3), torch.nn.Parameter(torch.zeros(1)), numpy.zeros((2, 1), "i2"), [torch.zeros(1)]):
    print(show(value).split("\\n")[0])
print(show(torch.zeros(5_000_000).untyped_storage()))
print(copy(torch.zeros(1)))
"""


@pytest.mark.torch_ranks
def test_tensors_and_arrays_are_shown_with_their_shape() -> None:
    text = str(Path(value_texts.__file__))
    done = subprocess.run(
        [TORCH_PYTHON, "-c", SHOWN, text], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout.splitlines() == [
        "[2, 3] float32 cpu: tensor([[0., 0., 0.],",
        "[1] float32 cpu: Parameter containing:",
        "[2, 1] int16: array([[0],",
        "[tensor([0.])]",
        "<torch.storage.UntypedStorage: its text takes longer than 0.5 s>",
        "tensor([0.])",
    ]


def test_interrupt_of_a_slow_text_never_reaches_what_runs_after_it() -> None:
    """The texts end while they are being interrupted: each call either returns or raises, and nothing comes later."""

    def text() -> str:
        end = time.perf_counter() + 0.0005
        while time.perf_counter() < end:
            pass
        return "text"

    outcomes = set()
    for _ in range(100):
        try:
            outcomes.add(value_texts.in_time(text, 0.0005))
        except value_texts.ValueTooSlow:
            outcomes.add("too slow")
        sum(range(1000))
    assert outcomes <= {"text", "too slow"}


def test_error_of_a_text_is_raised_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        value_texts.in_time(lambda: 1 / 0, 1)
