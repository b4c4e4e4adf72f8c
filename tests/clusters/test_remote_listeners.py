"""The owner of the port where a route ends, as the kernel there reports it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import pytest
from eagleray.clusters.credentials import (
    TABLES_COMMAND,
    belongs_to_other_user,
    owner_check,
)
from eagleray.common.errors import EaglerayError
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.ray.endpoint import Endpoint

from tests.fakes.dashboard import dashboard, patient
from tests.fakes.relay import relay_to

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
ME, BOB = 5001, 5002
HERE, ANYWHERE = "0100007F", "00000000"
HERE_6 = "00000000000000000000000001000000"


def line(address: str, port: int, uid: int, state: str = "0A", far: str = "00000000:0000") -> str:
    return f"   0: {address}:{port:04X} {far} {state} 00000000:00000000 00:00000000 00000000  {uid}        0 77 1"


def tables(*lines: str, uid: int = ME) -> str:
    status = f"Name:\tcat\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nGid:\t1\t1\t1\t1\n"
    return "\n".join([status + HEAD, *lines, HEAD.replace("local", "local6"), ""])


@pytest.mark.parametrize(
    ("said", "strangers"),
    [
        (tables(line(HERE, 8265, ME)), False),
        (tables(line(HERE, 8265, 0)), False),
        (tables(line(HERE, 8265, BOB)), True),
        (tables(line(ANYWHERE, 8265, BOB)), True),
        (tables(line(HERE_6, 8265, BOB)), True),
        (tables(line(HERE, 8265, ME), line(HERE_6, 8265, BOB)), True),
        (tables(line(HERE, 8266, BOB)), None),
        (tables(line(HERE, 8265, BOB, state="01")), None),
        (tables(line(HERE, 8265, BOB), uid=BOB), False),
        (tables(), None),
        ("cat: /proc/self/status: No such file or directory\n", None),
        ("", None),
    ],
)
def test_owner_of_a_port_is_read_from_the_tables(said: str, strangers: bool | None) -> None:
    assert belongs_to_other_user(said, 8265) is strangers


def test_tables_of_this_kernel_can_be_read() -> None:
    said = subprocess.run(TABLES_COMMAND, capture_output=True, text=True, check=False).stdout
    assert "\nUid:" in said
    assert not belongs_to_other_user(said, 1)


async def test_token_is_not_sent_to_a_user_that_took_the_port_over() -> None:
    owner = [ME]
    asked: list[str] = []
    unknown: list[bool] = []

    async def run(ssh: str, argv: Sequence[str]) -> CommandOutput:
        asked.append(ssh)
        assert tuple(argv) == TABLES_COMMAND
        return CommandOutput(0, tables(line(HERE, 8265, owner[-1])), "")

    async with dashboard() as fake, relay_to(fake.port) as relay:
        check = owner_check(run, "login", 8265, "ssh://login/http://127.0.0.1:8265", unknown.append)

        async def find() -> Endpoint:
            return Endpoint("http://127.0.0.1:8265", relay.path, check=check)

        client = patient("ssh://login/http://127.0.0.1:8265", lambda look: "secret", find)
        await client.version()
        assert asked == []
        fake.token = "secret"
        await client.version()
        assert asked == ["login"]
        relay.break_connections()
        await client.version()
        assert asked == ["login", "login"]
        # It goes, and another program listens there that asks for the token just as Ray does.
        owner.append(BOB)
        sent = len(fake.sent_tokens())
        relay.break_connections()
        for _ in range(2):
            with pytest.raises(EaglerayError) as failed:
                await client.version()
            assert failed.value.code == "stranger-listens"
        assert len(fake.sent_tokens()) == sent
        assert not any(unknown)
        await client.close()


async def test_host_that_does_not_show_its_listeners_is_reported() -> None:
    unknown: list[bool] = []

    async def run(ssh: str, argv: Sequence[str]) -> CommandOutput:
        return CommandOutput(1, "", "cat: /proc/self/status: No such file or directory\n")

    await owner_check(run, "mac", 8265, "ssh://mac/http://127.0.0.1:8265", unknown.append)()
    assert unknown == [True]
