"""Every way in which a dashboard can fail, and the error of the catalogue that it becomes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.ray.dashboard import Dashboard

from tests.fakes.dashboard import dashboard, no_http, patient

FAULTS = [
    ("error_500", "dashboard-failed"),
    ("busy_429", "dashboard-busy"),
    ("garbage", "not-ray"),
    ("nested", "not-ray"),
    ("other_json", "not-ray"),
    ("web_page", "not-ray"),
    ("not_found", "not-ray"),
    ("login_401", "not-ray"),
    ("redirect", "redirected"),
    ("huge", "answer-too-large"),
    ("silent", "cluster-slow"),
    ("drip", "cluster-slow"),
    ("hang_up", "cluster-unreachable"),
]

ASK: dict[str, Callable[[Dashboard], Awaitable[object]]] = {
    "version": Dashboard.version,
    "paused_workers": Dashboard.paused_workers,
    "actors": Dashboard.actors,
    "jobs": Dashboard.jobs,
}


async def failure(
    client: Dashboard, ask: Callable[[Dashboard], Awaitable[object]]
) -> EaglerayError:
    with pytest.raises(EaglerayError) as failed:
        await ask(client)
    await client.close()
    return failed.value


@pytest.mark.parametrize(("fault", "code"), FAULTS)
async def test_fault_becomes_an_error_of_the_catalogue(fault: str, code: str) -> None:
    patience_s = 2.0 if code == "cluster-slow" else 30.0
    async with dashboard() as fake:
        fake.fault = fault
        clients = [Dashboard(fake.address, quick_s=patience_s, list_s=patience_s) for _ in ASK]
        errors = await asyncio.gather(*map(failure, clients, ASK.values()))
        assert [(name, error.code) for name, error in zip(ASK, errors, strict=True)] == [
            (name, code) for name in ASK
        ]
        for error in errors:
            assert fake.address in error.message
            assert error.shown_step


async def test_closed_port_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
        error = await failure(Dashboard(address), Dashboard.version)
    assert error.code == "cluster-unreachable"


async def test_missing_host_name_is_unreachable() -> None:
    error = await failure(Dashboard("http://no-such-host.invalid:8265"), Dashboard.version)
    # Where no name server can be reached, the search for the name takes longer than we wait.
    assert error.code in ("cluster-unreachable", "cluster-slow")


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH_9.6\r\n", b"\x00\x01\x02" * 100, b""])
async def test_server_without_http_is_not_ray(said: bytes) -> None:
    async with no_http(said) as address:
        error = await failure(Dashboard(address), Dashboard.version)
    assert error.code in ("not-ray", "cluster-unreachable")


async def test_https_to_a_plain_server_is_unreachable() -> None:
    async with dashboard() as fake:
        address = fake.address.replace("http:", "https:")
        error = await failure(Dashboard(address), Dashboard.version)
    assert error.code == "cluster-unreachable"


async def test_message_of_the_server_is_only_in_the_log() -> None:
    async with dashboard() as fake:
        fake.fault = "error_500"
        error = await failure(Dashboard(fake.address), Dashboard.paused_workers)
    assert "out of order" in error.detail
    assert "out of order" not in str(error)


async def test_dashboard_is_queried_again_after_a_fault() -> None:
    async with dashboard() as fake:
        client = patient(fake.address)
        for fault, _ in FAULTS[:4]:
            fake.fault = fault
            with pytest.raises(EaglerayError):
                await client.paused_workers()
        fake.fault = ""
        assert len(await client.paused_workers()) == 3
        await client.close()
