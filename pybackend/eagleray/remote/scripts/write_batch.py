"""Saves trajectories as a batch of padded tensors, as AReaL's rollouts have them, in the Python of the user.

Reads lines of JSON from standard input, each with `ids`, `mask`, `logprobs`, `versions` and `reward`.  The names and
types come from AReaL 4aef98d8: input_ids, loss_mask and versions int32, logprobs and rewards float32, attention_mask
bool, padded on the right.  The file can be loaded with `weights_only=True`.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

# This folder has modules of Eagleray, whose names the user's libraries may need for others.
del sys.path[0]


def main() -> None:
    answer = sys.stdout
    # The output of modules during their import isn't part of the answer.
    sys.stdout = sys.stderr
    try:
        torch = import_module("torch")
    except Exception as error:
        # A library that it loads may be missing, or of another version.
        is_missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        problem = "no-torch" if is_missing else "torch-fails"
        json.dump({"problem": problem, "detail": f"{type(error).__name__}: {error}"}, answer)
        return
    rows = [json.loads(line) for line in sys.stdin if line.strip()]
    batch = batch_of(torch, rows)
    # Whole or not at all, and only for the user: batches have prompts.
    path = Path(sys.argv[1])
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # Made before torch opens it, so that it never has another mode.
        os.close(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        torch.save(batch, scratch)
        scratch.replace(path)
    except (OSError, RuntimeError) as error:
        # torch reports errors of writing as RuntimeError (`PyTorchStreamWriter` in `inline_container.cc`).
        scratch.unlink(missing_ok=True)
        json.dump({"problem": "not-written", "detail": str(error)}, answer)
        return
    shapes = {name: list(tensor.shape) for name, tensor in batch.items()}
    json.dump({"rows": len(rows), "tensors": shapes}, answer)


def batch_of(torch: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    longest = max(len(row["ids"]) for row in rows)

    def padded(name: str, fill: float, kind: Any) -> Any:
        values = [row[name] + [fill] * (longest - len(row[name])) for row in rows]
        return torch.tensor(values, dtype=kind)

    lengths = torch.tensor([len(row["ids"]) for row in rows])
    return {
        "input_ids": padded("ids", 0, torch.int32),
        "loss_mask": padded("mask", 0, torch.int32),
        "logprobs": padded("logprobs", 0.0, torch.float32),
        "versions": padded("versions", -1, torch.int32),
        "attention_mask": torch.arange(longest)[None, :] < lengths[:, None],
        "rewards": torch.tensor([row["reward"] for row in rows], dtype=torch.float32),
    }


if __name__ == "__main__":
    main()
