"""Prints what is in a saved batch as JSON, in the Python of the user, which has torch.

`torch.load` executes what a pickle names.  With `weights_only=True` it executes nothing, since torch 2.6.0: before, a
file could get around it (CVE-2025-32434).  Anything else is executed only if its names were agreed to (`--agreed`), and
then the pickle can import nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eagleray.remote.scripts import unpickling
else:
    unpickling = import_module("unpickling")

# This folder has modules of Eagleray, whose names the user's libraries may need for others.
del sys.path[0]

Json = dict[str, Any]

MOST_TENSORS = 300
MOST_VALUES = 300
LONGEST_TEXT = 200
# Values that are examined at a time: a piece needs ten times as many bytes.
PIECE = 4000000
DEEPEST = 6
SAFE_TORCH = (2, 6)
# Functions that call their arguments; `weights_only=True` limits them itself.
NOT_HARMLESS = ("torch._tensor._rebuild_from_type_v2",)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--agreed", type=json.loads, default=[])
    arguments = parser.parse_args()
    answer = sys.stdout
    # The output of modules during their import isn't part of the answer.
    sys.stdout = sys.stderr
    json.dump(read(arguments.file, arguments.agreed), answer)


def read(path: str, agreed: list[str]) -> Json:
    try:
        torch = import_module("torch")
    except Exception as error:
        # A library that it loads may be missing, or of another version.
        is_missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        problem = "no-torch" if is_missing else "torch-fails"
        return {"problem": problem, "detail": f"{type(error).__name__}: {error}"}
    if agreed:
        # A module that the file names may be in the user's project; last, so that it hides no library.
        sys.path.append(str(Path.cwd()))
    answer: Json = {"torch": torch.__version__}
    try:
        value, names = load(torch, path, agreed)
    except NeedsUnpickle as error:
        return dict(
            answer,
            problem="needs-unpickle",
            detail=str(error),
            names=[unpickling.shown(*name) for name in error.names],
            dangerous=[unpickling.shown(*n) for n in error.names if unpickling.is_dangerous(*n)],
        )
    except unpickling.UnlistableError as error:
        return dict(answer, problem="unlisted-pickle", detail=str(error)[:500])
    except MemoryError:
        return dict(answer, problem="too-large", detail="")
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        return dict(answer, problem="not-loaded", detail=detail[:2000])
    answer["loaded"] = "unpickled" if names else "weights_only"
    parts = Parts(torch)
    parts.add("", value, 0)
    return dict(
        answer,
        kind=type(value).__name__,
        names=names,
        tensors=parts.tensors,
        values=parts.values,
        left_out=parts.left_out,
        masked=masked(torch, parts.by_name),
    )


class NeedsUnpickle(Exception):
    """The file can't be read without executing what it names."""

    def __init__(self, why: str, names: list[unpickling.Import]) -> None:
        super().__init__(why)
        self.names = names


def load(torch: Any, path: str, agreed: list[str]) -> tuple[Any, list[str]]:
    """The value, and the names that were executed for it."""
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    why = f"torch {torch.__version__}"
    if version >= SAFE_TORCH:
        try:
            return load_weights(torch, path), []
        except pickle.UnpicklingError as error:
            why = str(error).split("\n")[0][:500]
    imports = unpickling.imports(path)
    harmless = harmless_imports()
    # A tensor needs some that torch itself takes for harmless.
    named = [name for name in imports if ".".join(name) not in harmless]
    names = [unpickling.shown(*name) for name in named]
    if not set(names) <= set(agreed):
        raise NeedsUnpickle(why, named)
    unpickling.enforce([*imports, *(part.rpartition(".")[::2] for part in harmless)])
    try:
        return torch.load(path, map_location="cpu", weights_only=False), names
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        if isinstance(error, unpickling.NotListedError):
            raise
        # verl's DataProto.save_to_disk is a plain pickle.
        with Path(path).open("rb") as file:  # own file
            return pickle.load(file), names  # noqa: S301 (imports only what the user has allowed)


def harmless_imports() -> set[str]:
    """The names that `weights_only=True` imports."""
    try:
        unpickler = import_module("torch._weights_only_unpickler")
        return {name for name in unpickler._get_allowed_globals() if name not in NOT_HARMLESS}
    except (ImportError, AttributeError):
        return set()


def load_weights(torch: Any, path: str) -> Any:
    """Mapped where the format allows it, so that tensors need no memory of their own."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except (RuntimeError, ValueError):
        return torch.load(path, map_location="cpu", weights_only=True)


class Parts:
    """The tensors and other values of a batch, by their paths such as `batch.input_ids` or `0.rewards`."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.tensors: list[Json] = []
        self.values: list[Json] = []
        self.left_out = 0
        self.by_name: dict[str, Any] = {}

    def add(self, name: str, value: Any, depth: int) -> None:
        if isinstance(value, self.torch.Tensor):
            self.add_tensor(name, value)
        elif depth < DEEPEST and isinstance(value, (list, tuple)) and holds_parts(value):
            for at, part in enumerate(value):
                self.add(joined(name, str(at)), part, depth + 1)
        elif depth < DEEPEST and hasattr(value, "items") and hasattr(value, "keys"):
            # A dict, or a TensorDict.
            for key, part in list(value.items()):
                self.add(joined(name, str(key)), part, depth + 1)
        elif hasattr(value, "batch") and hasattr(value, "non_tensor_batch"):
            # verl's DataProto.
            for key in ("batch", "non_tensor_batch", "meta_info"):
                self.add(joined(name, key), getattr(value, key, None), depth + 1)
        else:
            self.add_value(name, value)

    def add_tensor(self, name: str, tensor: Any) -> None:
        if len(self.tensors) >= MOST_TENSORS:
            self.left_out += 1
            return
        self.by_name[name] = tensor
        self.tensors.append(described(self.torch, name, tensor))

    def add_value(self, name: str, value: Any) -> None:
        if len(self.values) >= MOST_VALUES:
            self.left_out += 1
            return
        shape = getattr(value, "shape", None)
        if shape is not None:
            text = f"shape {list(shape)}"
        elif isinstance(value, (str, int, float, bool, type(None))):
            text = str(value)
        elif hasattr(value, "__len__"):
            text = f"{len(value)} elements"
        else:
            text = ""
        kind = type(value).__name__
        self.values.append({"name": name, "type": kind, "text": text[:LONGEST_TEXT]})


def holds_parts(values: Iterable[Any]) -> bool:
    return any(
        isinstance(value, (dict, list, tuple)) or hasattr(value, "dtype") for value in values
    )


def joined(name: str, part: str) -> str:
    return f"{name}.{part}" if name else part


def shape_of(tensor: Any) -> list[int]:
    """For a nested tensor, returns the shape of the padded one, as in the rollouts of verl 0.9, whose own shape has a symbol."""
    if not tensor.is_nested:
        return list(tensor.shape)
    shapes = [row.shape for row in tensor.unbind()]
    dimensions = range(len(shapes[0]) if shapes else 0)
    return [len(shapes), *(max(shape[at] for shape in shapes) for at in dimensions)]


def row_shapes(tensor: Any) -> list[Any]:
    return [row.shape for row in tensor.unbind()] if tensor.is_nested else [tensor.shape]


def flat(torch: Any, tensor: Any) -> Any:
    """Its values in one row; a nested tensor has no padding."""
    if not tensor.is_nested:
        return tensor.reshape(-1)
    rows = [row.reshape(-1) for row in tensor.unbind()]
    return torch.cat(rows) if rows else torch.empty(0)


def is_readable(torch: Any, tensor: Any) -> bool:
    return tensor.is_nested or not (
        tensor.layout != torch.strided or tensor.is_complex() or tensor.is_quantized
    )


def described(torch: Any, name: str, tensor: Any) -> Json:
    about: Json = {
        "name": name,
        "shape": shape_of(tensor),
        "dtype": str(tensor.dtype).replace("torch.", ""),
        "bytes": sum(shape.numel() for shape in row_shapes(tensor)) * tensor.element_size(),
        "nan": 0,
        "infinite": 0,
        "least": None,
        "most": None,
        "mean": None,
        "std": None,
        "row_sums": None,
    }
    if not is_readable(torch, tensor):
        return about
    about.update(numbers(torch, flat(torch, tensor)))
    if is_mask(name) and tensor.dim() > 0:
        sums = row_sums(torch, tensor)
        about["row_sums"] = {
            "total": float(sums.sum()),
            "least": float(sums.min()) if len(sums) else 0.0,
            "most": float(sums.max()) if len(sums) else 0.0,
            "empty": int((sums == 0).sum()),
        }
    return about


def row_sums(torch: Any, tensor: Any) -> Any:
    if tensor.is_nested:
        return torch.tensor([float(row.double().sum()) for row in tensor.unbind()])
    return tensor.reshape(tensor.shape[0], -1).double().sum(-1)


def numbers(torch: Any, values: Any) -> Json:
    """The spread of the finite ones of `values`, a flat tensor, piece by piece."""
    count = nan = infinite = 0
    total = squares = 0.0
    least, most = math.inf, -math.inf
    for start in range(0, values.numel(), PIECE):
        piece = values[start : start + PIECE].double()
        finite = torch.isfinite(piece)
        missing = int(torch.isnan(piece).sum())
        nan += missing
        infinite += piece.numel() - int(finite.sum()) - missing
        piece = piece[finite]
        if piece.numel():
            count += piece.numel()
            least, most = min(least, float(piece.min())), max(most, float(piece.max()))
            total += float(piece.sum())
            squares += float((piece * piece).sum())
    if not count:
        return {"nan": nan, "infinite": infinite}
    mean = total / count
    deviation = math.sqrt(max(squares / count - mean * mean, 0.0))
    spread = {"least": least, "most": most, "mean": mean, "std": deviation}
    # The squares of huge numbers are infinite, which JSON doesn't have.
    finite_values = {key: v if math.isfinite(v) else None for key, v in spread.items()}
    return {**finite_values, "nan": nan, "infinite": infinite}


def is_mask(name: str) -> bool:
    return "mask" in name.split(".")[-1]


MASKS = ("loss_mask", "response_mask", "token_mask", "token_loss_mask")
PER_TOKEN = ("advantages", "returns", "logprobs", "old_log_probs", "rollout_log_probs", "prox_logp")


def masked(torch: Any, tensors: dict[str, Any]) -> list[Json]:
    """The values of tokens that the loss counts, by the name of their tensor."""
    values_of: list[Json] = []
    for name, tensor in tensors.items():
        folder, _, last = name.rpartition(".")
        if last not in PER_TOKEN or not is_readable(torch, tensor):
            continue
        shapes = row_shapes(tensor)
        masks = [tensors.get(joined(folder, mask)) for mask in MASKS]
        mask = next((m for m in masks if m is not None and row_shapes(m) == shapes), None)
        if mask is not None:
            values = flat(torch, tensor)[flat(torch, mask) != 0]
            values_of.append(
                {
                    "name": name,
                    "count": int(values.numel()),
                    "least": None,
                    "most": None,
                    "mean": None,
                    "std": None,
                    **numbers(torch, values),
                }
            )
    return values_of


if __name__ == "__main__":
    main()
