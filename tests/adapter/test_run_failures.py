"""Debug proxies of other runs, and workers that have no debugger, have a silent one, or end."""

from __future__ import annotations

import pytest

from tests.adapter.harness import ControlClient, until
from tests.adapter.proxied import RUN, SECRET, RunClient, StartProxied, attached
from tests.dap_client import DapClient, RequestFailed

REQUESTS = "__import__('pydevd').get_global_debugger().reader.process_net_command_json.__self__"


def test_proxy_of_another_run_and_a_stranger_are_refused(
    control: ControlClient, proxied: StartProxied
) -> None:
    run = RunClient(control, secret=64 * "a")
    program = proxied(waits=True, wait_s=0)
    where = {"run": RUN, "host": "127.0.0.1", "port": program.port}
    assert control.error("run_worker", **where)["code"] == "gate-refused"
    assert control.error("run_worker", **{**where, "run": "none"})["code"] == "unregistered-run"
    assert run.state()["workers"] == []
    control.call("run_register", run="another", secret=SECRET)
    assert control.error("run_worker", **{**where, "run": "another"})["code"] == "not-a-gate"
    control.call("run_end", run="another")
    program.wait_output("nobody came")


def test_worker_without_a_debugger_reports_it_and_continues(
    control: ControlClient, proxied: StartProxied
) -> None:
    run = RunClient(control)
    program = proxied(waits=True, wait_s=0.2, env={"NO_DEBUGPY": "1"})
    run.take(program)
    program.wait_output("nobody came")
    problem = until(lambda: run.worker()["problem"], "the reason")
    assert "debugpy" in problem
    until(lambda: run.worker()["state"] == "free", "its way on without a debugger")


def test_dead_worker_is_forgotten(control: ControlClient, proxied: StartProxied) -> None:
    run, program = attached(control, proxied)
    program.tell("work 1")
    run.wait("stopped")
    program.kill()
    until(
        lambda: run.state()["workers"] == [] and control.worker() is None, "the end of the worker"
    )


def test_worker_with_a_silent_debugger_stays_in_the_list(
    control: ControlClient, proxied: StartProxied
) -> None:
    run, program = attached(control, proxied)
    program.tell("work 1")
    stopped = run.wait("stopped")
    client = DapClient.unix(stopped["socket"])
    client.attach()
    client.wait_for("stopped")
    client.evaluate(f"setattr({REQUESTS}.__class__, 'on_continue_request', lambda *_: None)")
    with pytest.raises(RequestFailed, match="doesn't respond"):
        client.request("continue", threadId=1)
    client.wait_for("terminated")
    assert (run.worker() or {})["state"] == "stopped"
    assert "work 1" not in program.output()
    client.close()
    program.kill()  # Its release would wait for the debugger's answer.
