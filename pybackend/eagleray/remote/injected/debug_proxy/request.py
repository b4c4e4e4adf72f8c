"""The signed request with which a caller opens a connection to a debug proxy; both sides use this module.

The debug proxy greets with its run and a random nonce.  The caller answers with one line: the signature in hex, a space, and
the request as JSON.  The signature covers the run, the address that the caller connected to, the nonce and the exact
bytes of the request.  So a listener that isn't the debug proxy can neither use what it receives at another debug proxy, nor change
it, nor send it a second time.
"""

from __future__ import annotations

import functools
import ipaddress
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .. import ed25519

PREFIX = "EAGLERAY-PROXY "
VERSION = 2
NONCE_SIZE = 32
_PURPOSE = b"Eagleray: request to a debug proxy, version 2"
_SIGNATURE_DIGITS = 128


def greeting(run: str, version: int = VERSION) -> str:
    """The beginning of the greeting; since version 2 the nonce follows in hex, then the end of the line."""
    return f"{PREFIX}{version} {run}"


def new_nonce() -> bytes:
    return os.urandom(NONCE_SIZE)


def signed(
    key: ed25519.SecretKey,
    run: str,
    address: tuple[str, int],
    nonce: bytes,
    request: dict[str, Any],
) -> bytes:
    """The line for a debug proxy that was called at `address` and has sent `nonce`."""
    # With a random value of the caller, no two requests are the same message.
    body = json.dumps({**request, "salt": os.urandom(16).hex()}).encode()
    signature = key.sign(_message(run, address, nonce, body))
    return b"%b %b\n" % (signature.hex().encode(), body)


def verified(
    public: str, run: str, addresses: list[tuple[str, int]], nonce: bytes, line: bytes
) -> dict[str, Any] | None:
    """The request in `line`, None unless it is signed for one of these addresses of the debug proxy."""
    signature, _, body = line.partition(b" ")
    key = _public_key(public)
    if key is None or len(signature) != _SIGNATURE_DIGITS:
        return None
    try:
        binary = bytes.fromhex(signature.decode("ascii"))
        messages = {_message(run, address, nonce, body) for address in addresses}
        if not any(key.verifies(binary, message) for message in messages):
            return None
        request = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return request if isinstance(request, dict) else None


def _message(run: str, address: tuple[str, int], nonce: bytes, body: bytes) -> bytes:
    """Each part with its length, so that no two requests have the same bytes."""
    host, port = address
    parts = (_PURPOSE, run.encode(), _plain(host).encode(), str(port).encode(), nonce, body)
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def _plain(host: str) -> str:
    """One text for all spellings of an IP address; the zone of a link-local address differs between machines."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host.lower()
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


@functools.lru_cache(maxsize=1)
def _public_key(public: str) -> ed25519.PublicKey | None:
    # Most debug proxies never get a caller, and each worker starts one.
    from .. import ed25519

    try:
        return ed25519.PublicKey(bytes.fromhex(public))
    except ValueError:
        return None
