"""A fake security key for the real ssh: it stands in place of ssh-sk-helper, which would speak with the hardware.

`security_key.py PEM FIFO` signs with the key in PEM when it is touched, which is a write to FIFO.
As the hardware does, it gives up without a touch.
"""

from __future__ import annotations

import base64
import hashlib
import os
import select
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

KIND = b"sk-ssh-ed25519@openssh.com"
APPLICATION = b"ssh:"
# The key must be touched for each signature.
FLAGS = b"\x01"
# Constants of the protocol between ssh and its helper.
_VERSION, _SIGN = 5, 1
# About the limit of the hardware.
_TOUCH_S = 30.0


class SecurityKey:
    """A key in `folder` and the helper that signs with it; `environment` makes ssh use that."""

    def __init__(self, folder: Path) -> None:
        self._touch = folder / "touch"
        os.mkfifo(self._touch)
        pem, helper = folder / "hardware.pem", folder / "sk-helper"
        _openssl("genpkey", "-algorithm", "ed25519", "-out", str(pem))
        helper.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" "{pem}" "{self._touch}"\n'
        )
        helper.chmod(0o755)
        self.environment = f"export SSH_SK_HELPER={helper}"
        # The last 32 bytes of what openssl writes are the key itself.
        public = _openssl("pkey", "-in", str(pem), "-pubout", "-outform", "DER")[-32:]
        blob = _strings(KIND, public, APPLICATION)
        self.public = f"{KIND.decode()} {base64.b64encode(blob).decode()}\n"
        (folder / "key").touch(0o600)
        (folder / "key").write_text(_private(blob, public))
        (folder / "key.pub").write_text(self.public)

    def touch(self) -> None:
        """Returns when the helper has felt it."""
        self._touch.write_bytes(b"!")


def _private(blob: bytes, public: bytes) -> str:
    """The file as ssh-keygen writes it: a handle that only the hardware understands, in place of a secret."""
    secret = struct.pack(">II", 7, 7) + _strings(KIND, public, APPLICATION) + FLAGS
    secret += _strings(b"handle", b"", b"a comment")
    secret += bytes(range(1, 1 + -len(secret) % 8))
    head = b"openssh-key-v1\0" + _strings(b"none", b"none", b"") + struct.pack(">I", 1)
    text = base64.encodebytes(head + _strings(blob, secret)).decode()
    return f"-----BEGIN OPENSSH PRIVATE KEY-----\n{text}-----END OPENSSH PRIVATE KEY-----\n"


def _strings(*values: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(value)) + value for value in values)


def _openssl(*words: str) -> bytes:
    return subprocess.run(["openssl", *words], check=True, capture_output=True).stdout


def main() -> None:
    """One request of ssh on stdin, which is a socket, and its answer."""
    pem, touch = sys.argv[1:3]
    (length,) = struct.unpack(">I", _read(4))
    message = _read(length)
    # Version, kind of request, two words about logging.
    version, kind, _, _ = struct.unpack(">BIBI", message[:10])
    assert (version, kind) == (_VERSION, _SIGN)
    _, rest = _string(message[10:])
    _, rest = _string(rest)
    data, _ = _string(rest)
    # ssh may have ended meanwhile.
    finger = os.open(touch, os.O_RDONLY | os.O_NONBLOCK)
    felt, _, _ = select.select([finger, 0], [], [], _TOUCH_S)
    if finger not in felt:
        return
    counter = struct.pack(">I", 1)
    said = hashlib.sha256(APPLICATION).digest() + FLAGS + counter + hashlib.sha256(data).digest()
    signature = _strings(KIND, _signed(pem, said)) + FLAGS + counter
    answer = struct.pack(">BI", _VERSION, _SIGN) + _strings(signature)
    os.write(1, struct.pack(">I", len(answer)) + answer)


def _signed(pem: str, said: bytes) -> bytes:
    with tempfile.NamedTemporaryFile() as file:
        file.write(said)
        file.flush()
        return _openssl("pkeyutl", "-sign", "-rawin", "-inkey", pem, "-in", file.name)


def _string(data: bytes) -> tuple[bytes, bytes]:
    (length,) = struct.unpack(">I", data[:4])
    return data[4 : 4 + length], data[4 + length :]


def _read(count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += os.read(0, count - len(data))
    return data


if __name__ == "__main__":
    main()
