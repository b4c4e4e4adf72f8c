"""*View Value* of a worker that debugpy has stopped."""

from __future__ import annotations

import pytest

from tests.adapter.harness import ControlClient
from tests.adapter.test_stops import Start, on_each_python
from tests.dap_client import DapClient, RequestFailed

VIEW = "eagleray.view"


@on_each_python
def test_value_of_a_stopped_frame_is_read_at_each_stop_without_its_code(
    control: ControlClient, program: Start
) -> None:
    worker = program("viewed.py")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    first = editor.stack()[0]["id"]
    record = editor.request(VIEW, frameId=first, expression="batch")
    assert [child["reach"] for child in record["children"]] == ["['ids']", "['names']"]
    inner = editor.request(VIEW, frameId=first, expression="batch['names']['a'][0]")
    assert (inner["type"], inner["text"]) == ("float", "3.5")
    texts = editor.request(VIEW, frameId=first, names=["loss", "batch", "quiet", "compile", "none"])
    expected = {"loss": "0.421313", "batch": "dict (2)", "quiet": "", "compile": "True"}
    assert texts["texts"] == expected
    assert editor.request(VIEW, frameId=first, expression="quiet")["type"] == "Quiet"
    refused = editor.request(VIEW, frameId=first, expression="quiet.loss")
    assert refused["refused"] and "runs code of Quiet" in refused["error"]
    assert "SyntaxError" in editor.request(VIEW, frameId=first, expression="a b")["error"]

    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    second = editor.stack()[0]["id"]
    assert editor.request(VIEW, frameId=second, names=["loss"])["texts"]["loss"] == "0.842626"
    forced = editor.request(VIEW, frameId=second, expression="quiet.loss", allow_all=True)
    assert forced["text"] == "2.5"
    editor.request("continue", threadId=1)
    # Only the property ran, and only when it was allowed.
    assert "calls 1" in worker.wait_done()


def test_value_of_a_frame_that_has_ended_is_refused(control: ControlClient, program: Start) -> None:
    worker = program("viewed.py")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    frame = editor.stack()[0]["id"]
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    with pytest.raises(RequestFailed, match="isn't stopped in this frame"):
        editor.request(VIEW, frameId=1, expression="loss")
    with pytest.raises(RequestFailed, match=r"“arguments.at\[0\]” must be of type integer"):
        editor.request(VIEW, frameId=frame, expression="loss", at=["1"])
    editor.request("continue", threadId=1)
    worker.wait_done()
