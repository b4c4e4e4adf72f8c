"""A token goes to a Ray dashboard that asks for one and may have it, and to no other server."""

from __future__ import annotations

import pytest
from eagleray.common.errors import EaglerayError

from tests.fakes.dashboard import dashboard, patient


async def test_token_is_not_sent_unless_required() -> None:
    async with dashboard() as fake:
        client = patient(fake.address, lambda look: "secret")
        await client.version()
        await client.paused_workers()
        assert fake.sent_tokens() == []
        await client.close()


async def test_token_is_sent_when_it_is_required() -> None:
    async with dashboard() as fake:
        fake.token = "secret"
        client = patient(fake.address, lambda look: "secret")
        assert await client.authentication_mode() == "token"
        assert len(await client.paused_workers()) == 3
        await client.paused_workers()
        # Only the first question was asked twice.
        assert [path for path in fake.paths() if "workers" in path] == ["/api/v0/workers"] * 3
        assert set(fake.sent_tokens()) == {"Bearer secret"}
        await client.close()


@pytest.mark.parametrize(("given", "code"), [(None, "token-needed"), ("bad", "token-refused")])
async def test_missing_or_wrong_token_is_an_error_without_the_secret(
    given: str | None, code: str
) -> None:
    async with dashboard() as fake:
        fake.token = "secret"
        client = patient(fake.address, lambda look: given)
        with pytest.raises(EaglerayError) as failed:
            await client.version()
        assert failed.value.code == code
        assert "secret" not in str(failed.value) + failed.value.detail
        await client.close()


async def test_new_token_is_used_at_once() -> None:
    async with dashboard() as fake:
        fake.token = "new"
        tokens = ["old"]
        client = patient(fake.address, lambda look: tokens[-1])
        with pytest.raises(EaglerayError):
            await client.version()
        tokens.append("new")
        assert (await client.version()).ray == "2.60.0"
        await client.close()


@pytest.mark.parametrize("fault", ["login_401", "redirect", "web_page", "other_json", "garbage"])
async def test_token_is_not_sent_to_non_ray_servers(fault: str) -> None:
    async with dashboard() as fake:
        fake.fault = fault
        client = patient(fake.address, lambda look: "secret")
        with pytest.raises(EaglerayError):
            await client.version()
        assert fake.sent_tokens() == []
        await client.close()


async def test_redirect_after_a_request_for_the_token_is_not_followed() -> None:
    async with dashboard() as fake, dashboard() as elsewhere:
        fake.token = "secret"
        client = patient(fake.address, lambda look: "secret")
        await client.version()
        fake.fault = "redirect"
        with pytest.raises(EaglerayError) as failed:
            await client.version()
        assert failed.value.code == "redirected"
        assert elsewhere.requests == []
        assert "/login" not in fake.paths()
        await client.close()


async def test_withdrawn_token_is_not_sent() -> None:
    async with dashboard() as fake:
        fake.token = "secret"
        may: list[str | None] = ["secret"]
        client = patient(fake.address, lambda look: may[-1])
        await client.version()
        sent = len(fake.sent_tokens())
        may.append(None)
        with pytest.raises(EaglerayError) as failed:
            await client.version()
        assert failed.value.code == "token-needed"
        assert len(fake.sent_tokens()) == sent
        await client.close()


async def test_listener_is_checked_before_each_connection() -> None:
    async with dashboard() as fake:
        fake.token = "secret"
        looks: list[bool] = []
        strangers = False

        def source(look: bool) -> str | None:
            looks.append(look)
            return None if look and strangers else "secret"

        client = patient(fake.address, source)
        await client.version()
        looks.clear()
        await client.version()
        assert looks == [False]
        # The dashboard goes, and another program takes its port.
        await fake.stop()
        await fake.start(fake.port)
        strangers = True
        before = len(fake.sent_tokens())
        with pytest.raises(EaglerayError) as failed:
            await client.version()
        assert failed.value.code == "token-needed"
        assert looks[-1] is True
        assert len(fake.sent_tokens()) == before
        await client.close()
