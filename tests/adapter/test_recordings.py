"""Recordings that the adapter requests through a real debug proxy."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.adapter.harness import ControlClient, until
from tests.adapter.proxied import RUN, RunClient, StartProxied


def test_recording_reaches_nsys_and_its_state_is_reported(
    control: ControlClient, proxied: StartProxied
) -> None:
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as watcher:
        address = str(Path(folder) / "nsys")
        watcher.bind(address)
        watcher.listen()
        watcher.settimeout(60)
        run = RunClient(control, breakpoints=[])
        run.take(proxied(nsys=address))
        proxy, _ = watcher.accept()
        proxy.settimeout(60)
        with proxy, proxy.makefile("rb") as said:

            def heard(op: str) -> dict[str, object]:
                return next(line for row in said if (line := json.loads(row))["op"] == op)

            def tells(state: str) -> None:
                line = {"event": "profile", "profile": {"state": state, "said": "", "reports": []}}
                proxy.sendall(json.dumps(line).encode() + b"\n")
                until(lambda: run.worker()["profile"] == state, f"the state {state}")

            heard("proxy")
            assert control.call("run_recording", run=RUN, op="record")["asked"] == 0
            tells("armed")
            assert control.call("run_recording", run=RUN, op="record", seconds=2)["asked"] == 1
            assert heard("record")["seconds"] == 2
            tells("recording")
            asked = {"run": RUN, "op": "stop_recording", "workers": ["w9"]}
            assert control.call("run_recording", **asked)["asked"] == 0
            asked["workers"] = ["w1"]
            assert control.call("run_recording", **asked)["asked"] == 1
            heard("stop_recording")
            tells("missing")
            assert control.call("run_recording", run=RUN, op="record")["asked"] == 0
    assert control.error("run_recording", run="another", op="record")["code"] == "unregistered-run"
