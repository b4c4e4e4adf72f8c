"""Gates that are not the run's, and workers that cannot be debugged or end."""

from __future__ import annotations

from tests.adapter.harness import ControlClient, until
from tests.adapter.proxied import RUN, SECRET, RunClient, StartProxied, attached


def test_a_proxy_of_another_run_and_a_stranger_are_refused(
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


def test_a_worker_without_a_debugger_says_so_and_goes_on(
    control: ControlClient, proxied: StartProxied
) -> None:
    run = RunClient(control)
    program = proxied(waits=True, wait_s=0.2, env={"NO_DEBUGPY": "1"})
    run.take(program)
    program.wait_output("nobody came")
    problem = until(lambda: run.worker()["problem"], "the reason")
    assert "debugpy" in problem
    assert run.worker()["state"] == "free"


def test_a_worker_that_dies_is_forgotten(control: ControlClient, proxied: StartProxied) -> None:
    run, program = attached(control, proxied)
    program.tell("work 1")
    run.wait("stopped")
    program.kill()
    until(
        lambda: run.state()["workers"] == [] and control.worker() is None, "the end of the worker"
    )
