"""The sources that the user names as A and B: a server, a URL, `torch:DIR`, or a dump."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

from attrs import frozen

from eagleray.rollouts.comparing.engines.torch_reference import TorchModel

_TORCH = "torch:"
_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32"}


@frozen
class ServerTarget:
    """A server's name or URL."""

    written: str


@frozen
class DumpTarget:
    """A file with ids and logprobs; `field` is the one with the logprobs, "" for the usual ones.

    `dtype` and `model` are what the user says of the side that computed them.
    """

    path: Path
    field: str = ""
    dtype: str = ""
    model: str = ""


ComparisonTarget = ServerTarget | TorchModel | DumpTarget


def target_of(written: str) -> ComparisonTarget:
    """1. `torch:DIR?dtype=…&device=…`.  2. A URL.  3. A file, `FILE?logprobs=FIELD&dtype=…&model=…`.  4. The name of a server."""
    if names_model(written):
        path, options = _options(written.removeprefix(_TORCH))
        folder = Path(path).expanduser()
        return TorchModel(folder, _dtype(options), options.get("device", ""))
    if "://" in written:
        return ServerTarget(written)
    path, options = _options(written)
    file = Path(path).expanduser()
    if file.is_file() or file.suffix in (".jsonl", ".json"):
        field, model = options.get("logprobs", ""), options.get("model", "")
        return DumpTarget(file, field, _dtype(options), model)
    return ServerTarget(written)


def names_model(written: str) -> bool:
    """Whether this is a model in torch, which runs in the user's interpreter."""
    return written.startswith(_TORCH)


def _dtype(options: dict[str, str]) -> str:
    written = options.get("dtype", "")
    return _DTYPES.get(written, written)


def _options(written: str) -> tuple[str, dict[str, str]]:
    path, _, query = written.partition("?")
    return path, {name: values[-1] for name, values in parse_qs(query).items()}
