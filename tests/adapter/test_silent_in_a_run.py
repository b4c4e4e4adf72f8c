"""A worker of a run whose debugger no longer answers."""

from __future__ import annotations

import pytest

from tests.adapter.harness import ControlClient
from tests.adapter.proxied import StartProxied, attached
from tests.dap_client import DapClient, RequestFailed

REQUESTS = "__import__('pydevd').get_global_debugger().reader.process_net_command_json.__self__"


def test_a_worker_with_a_silent_debugger_stays_in_the_list(
    control: ControlClient, proxied: StartProxied
) -> None:
    run, program = attached(control, proxied)
    program.tell("work 1")
    stopped = run.wait("stopped")
    client = DapClient.unix(stopped["socket"])
    client.attach()
    client.wait_for("stopped")
    client.evaluate(f"setattr({REQUESTS}.__class__, 'on_continue_request', lambda *_: None)")
    with pytest.raises(RequestFailed, match="doesn't answer"):
        client.request("continue", threadId=1)
    client.wait_for("terminated")
    assert (run.worker() or {})["state"] == "stopped"
    assert "work 1" not in program.output()
    client.close()
