"""Signatures: the vectors of RFC 8032, another implementation, and what must be refused."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from eagleray.remote.injected.ed25519 import PublicKey, SecretKey
from hypothesis import given, settings
from hypothesis import strategies as st

ORDER = 2**252 + 27742317777372353535851937790883648493
P = 2**255 - 19
# RFC 8032, 7.1: secret key, public key, message, signature.
VECTORS = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        "4a7c15e9716ed28dc027beceea1ec40a",
    ),
]
seeds = st.binary(min_size=32, max_size=32)
messages = st.binary(max_size=300)


@pytest.mark.parametrize(("secret", "public", "message", "signature"), VECTORS)
def test_signatures_equal_the_vectors_of_the_rfc(
    secret: str, public: str, message: str, signature: str
) -> None:
    key, text = SecretKey(bytes.fromhex(secret)), bytes.fromhex(message)
    assert key.public.hex() == public
    assert key.sign(text).hex() == signature
    assert PublicKey(key.public).verifies(bytes.fromhex(signature), text)


@given(seeds, messages)
@settings(max_examples=30)
def test_key_and_signature_equal_another_implementation(seed: bytes, message: bytes) -> None:
    ours, theirs = SecretKey(seed), Ed25519PrivateKey.from_private_bytes(seed)
    assert ours.public == theirs.public_key().public_bytes_raw()
    assert ours.sign(message) == theirs.sign(message)


@given(seeds, messages, st.data())
@settings(max_examples=30)
def test_altered_message_or_signature_is_refused(
    seed: bytes, message: bytes, data: st.DataObject
) -> None:
    key = SecretKey(seed)
    public, signature = PublicKey(key.public), key.sign(message)
    assert public.verifies(signature, message)
    assert not public.verifies(altered(signature, data), message)
    assert not public.verifies(signature, message + b"\0")
    if message:
        assert not public.verifies(signature, altered(message, data))
    assert not PublicKey(SecretKey(altered(seed, data)).public).verifies(signature, message)


def altered(content: bytes, data: st.DataObject) -> bytes:
    at = data.draw(st.integers(0, len(content) * 8 - 1))
    return (int.from_bytes(content, "big") ^ 1 << at).to_bytes(len(content), "big")


@given(st.binary(max_size=200))
@settings(max_examples=50)
def test_arbitrary_bytes_are_refused_without_an_exception(signature: bytes) -> None:
    assert not PUBLIC.verifies(signature, b"message")
    assert not PUBLIC.verifies(signature.ljust(64, b"\xff")[:64], b"message")


KEY = SecretKey(bytes(32))
PUBLIC = PublicKey(KEY.public)


def test_second_encoding_of_a_signature_is_refused() -> None:
    signature = KEY.sign(b"message")
    answer = int.from_bytes(signature[32:], "little") + ORDER
    assert not PUBLIC.verifies(signature[:32] + answer.to_bytes(32, "little"), b"message")


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        bytes(31),
        bytes(33),
        # No point has this coordinate.
        (2).to_bytes(32, "little"),
        # The neutral element, in the canonical form and in others; points of order 2, 4 and 8.
        (1).to_bytes(32, "little"),
        (P + 1).to_bytes(32, "little"),
        (1 | 1 << 255).to_bytes(32, "little"),
        (P - 1).to_bytes(32, "little"),
        bytes(32),
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    ],
)
def test_invalid_public_key_is_refused(encoded: bytes) -> None:
    with pytest.raises(ValueError, match="not an Ed25519 key"):
        PublicKey(encoded)


@pytest.mark.parametrize("seed", [b"", bytes(31), bytes(33)])
def test_secret_key_of_another_size_is_refused(seed: bytes) -> None:
    with pytest.raises(ValueError, match="not an Ed25519 key"):
        SecretKey(seed)
