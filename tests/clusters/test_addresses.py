"""How people write addresses, and what is made of them."""

from __future__ import annotations

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.features.clusters.addresses import host_and_port, normalised
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
    "http://head:8265/prefix",
    "http://head:8265/?next=x",
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
def test_good(written: str, address: str) -> None:
    assert normalised(written) == address


@pytest.mark.parametrize("written", BAD)
def test_bad(written: str) -> None:
    with pytest.raises(EaglerayError) as failed:
        normalised(written)
    assert failed.value.code == "bad-address"
    assert failed.value.next_step


def test_host_and_port() -> None:
    assert host_and_port("http://[::1]:8265") == ("::1", 8265)
    assert host_and_port("https://head:443") == ("head", 443)


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_an_error(text: str) -> None:
    try:
        address = normalised(text)
    except EaglerayError as error:
        assert error.code == "bad-address"
    else:
        assert normalised(address) == address
