"""How people write addresses, and what is made of them."""

from __future__ import annotations

import pytest
from eagleray.clusters.addresses import (
    ClusterAddress,
    host_and_port,
    normalised,
    parse_address,
)
from eagleray.common.errors import EaglerayError
from hypothesis import given
from hypothesis import strategies as st

GOOD = [
    ("8265", "http://127.0.0.1:8265"),
    (" 8265 ", "http://127.0.0.1:8265"),
    ("localhost:8265", "http://127.0.0.1:8265"),
    ("LOCALHOST:8265", "http://127.0.0.1:8265"),
    ("0.0.0.0:8265", "http://127.0.0.1:8265"),
    ("[::]:8265", "http://127.0.0.1:8265"),
    ("node-12.cluster.example:8265", "http://node-12.cluster.example:8265"),
    ("Node12:8265", "http://node12:8265"),
    ("192.0.2.7:80", "http://192.0.2.7:80"),
    ("[2001:DB8::1]:8265", "http://[2001:db8::1]:8265"),
    ("[::ffff:127.0.0.1]:8265", "http://127.0.0.1:8265"),
    ("[::ffff:7f00:1]:8265", "http://127.0.0.1:8265"),
    ("[::ffff:0.0.0.0]:8265", "http://127.0.0.1:8265"),
    ("http://head:8265", "http://head:8265"),
    ("http://head:8265/", "http://head:8265"),
    ("http://127.0.0.1:8265/#/cluster", "http://127.0.0.1:8265"),
    ("HTTPS://ray.example", "https://ray.example:443"),
    ("http://ray.example", "http://ray.example:80"),
    ("https://hpc.example/ray/alice/", "https://hpc.example:443/ray/alice"),
    ("https://hpc.example/rnode/n1/8265/#/cluster", "https://hpc.example:443/rnode/n1/8265"),
    ("ssh://login", "ssh://login/http://127.0.0.1:8265"),
    ("ssh://login/", "ssh://login/http://127.0.0.1:8265"),
    ("ssh://login/8266", "ssh://login/http://127.0.0.1:8266"),
    ("SSH://me@Login.example/Node-1:8265", "ssh://me@Login.example/http://node-1:8265"),
    ("ssh://login/https://head/ray", "ssh://login/https://head:443/ray"),
    ("slurm://12345", "slurm://12345"),
    ("slurm://12345/", "slurm://12345"),
    ("slurm://12_3", "slurm://12_3"),
    ("ssh://login/slurm://7", "ssh://login/slurm://7"),
]

BAD = [
    "",
    " ",
    "0",
    "65536",
    "999999999999999999",
    "head",
    "head:",
    ":8265",
    "head:port",
    "head:0",
    "head:65536",
    "ray://head:10001",
    "ftp://head:8265",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "http://user:secret@head:8265",
    "user@head:8265",
    "http://head:8265/?next=x",
    "http://head:8265/../x",
    "http://head:8265//x",
    "http://head:8265/a b",
    "http://head:8265/<script>",
    "slurm://",
    "ssh://login/ray://head:1",
    "ssh://login/ssh://other/8265",
    "ssh://login/0",
    "http://",
    "http://:8265",
    "he ad:8265",
    "head\n:8265",
    "head\x00:8265",
    "-head:8265",
    "$(id):8265",
    "[::1:8265",
    "[fe80:nobody]:8265",
    "a" * 300 + ":8265",
]


@pytest.mark.parametrize(("written", "address"), GOOD)
def test_valid_address_is_normalised(written: str, address: str) -> None:
    assert normalised(written) == address


@pytest.mark.parametrize("written", BAD)
def test_invalid_address_is_refused(written: str) -> None:
    with pytest.raises(EaglerayError) as failed:
        normalised(written)
    assert failed.value.code == "bad-address"
    assert failed.value.next_step


@pytest.mark.parametrize(
    "written",
    [
        "ssh://",
        "ssh:///8265",
        "ssh://-oProxyCommand=x/8265",
        "ssh://login:22/8265",
        "ssh://a b/8265",
        "slurm://1;id",
        "slurm://-w",
        "slurm://$(id)",
        "ssh://login/slurm://x",
        "ssh://$(id)/8265",
    ],
)
def test_options_and_shell_syntax_are_not_routes(written: str) -> None:
    with pytest.raises(EaglerayError) as failed:
        normalised(written)
    assert failed.value.code == "bad-route"


def test_address_names_its_host_and_job() -> None:
    assert parse_address("ssh://login/node-1:8265") == ClusterAddress(
        url="http://node-1:8265", ssh="login"
    )
    assert parse_address("ssh://login/slurm://7") == ClusterAddress(ssh="login", job="7")
    assert parse_address("8265").is_direct
    assert not parse_address("slurm://7").is_direct


def test_host_and_port_are_read_from_a_direct_address_only() -> None:
    assert host_and_port("http://[::1]:8265") == ("::1", 8265)
    assert host_and_port("https://head:443") == ("head", 443)
    assert host_and_port("ssh://login/http://head:443") == ("", 0)
    assert host_and_port("slurm://7") == ("", 0)


def check_any(text: str) -> None:
    try:
        address = normalised(text)
    except EaglerayError as error:
        assert error.code in ("bad-address", "bad-route")
    else:
        assert normalised(address) == address


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_an_error(text: str) -> None:
    check_any(text)


@given(st.text(max_size=30), st.sampled_from(["ssh://login/", "ssh://", "slurm://", "http://h:1/"]))
def test_any_text_beyond_something_is_an_address_or_an_error(text: str, before: str) -> None:
    check_any(before + text)
