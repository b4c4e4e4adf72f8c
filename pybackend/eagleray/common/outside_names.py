"""Names of files and folders that are made of a name from outside, such as the address of a node or a report of a cluster."""

from __future__ import annotations

import hashlib
import re

# Accepted by every kind of file system; without colons, since scp takes what precedes one for a host.
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._+=@-]")
# Windows has no files of these names, whatever their ending ("Naming Files, Paths, and Namespaces" of its documents).
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_LONGEST = 100


def plain_name(name: str, longest: int = _LONGEST) -> str:
    """A name for a file directly in a folder, which leads nowhere else, isn't hidden, and isn't taken for an option.

    One that had to be changed ends with a hash, so that two names never become one; colons alone are merely replaced.
    """
    with_colons = name.replace(":", "_")
    plain = _NOT_PLAIN.sub("_", with_colons)[:longest].lstrip(".-").rstrip(".")
    if _DEVICES.match(plain):
        plain = f"_{plain}"
    if plain == with_colons and plain:
        return plain
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}-{digest}" if plain else f"_{digest}"
