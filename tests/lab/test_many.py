"""300 paused workers on 8 nodes behind one login node: one connection carries all of them."""

from __future__ import annotations

from tests.lab.adapter import LabAdapter, ssh
from tests.lab.eagleray import Eagleray
from tests.lab.many import HEAD, many_workers
from tests.lab.site import Site

COUNT = 300


def test_many_workers_are_listed_and_can_be_attached_to(
    site: Site, laptop: Eagleray, adapter: LabAdapter
) -> None:
    with many_workers(site, COUNT) as ports:
        assert len(laptop.paused(f"ssh://login/{HEAD}:8265")) == COUNT
        control = adapter.control
        requests = [
            control.send(
                "attach",
                session="session_1",
                worker_id=f"{address}:{port}",
                cluster="",
                name=f"worker {port}",
                host=address,
                port=port,
                routes=[ssh("login")],
            )
            for address, its in ports.items()
            for port in its
        ]
        assert all("result" in control.answer(request) for request in requests)
        states = {state["state"] for state in control.call("workers")["workers"]}
        assert states == {"stopped"}
        assert len(adapter.masters()) == 1
