"""Lines as the frameworks write them, by the code that formats.py names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CHATML = "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"


def areal(task: int, sample: int, **changes: Any) -> dict[str, Any]:
    return {
        "task_id": task,
        "sample_idx": sample,
        "seqlen": 20,
        "prompt_len": 12,
        "head_version": 3,
        "tail_version": 4,
        "reward": float(sample % 2),
        "prompt": CHATML,
        "completion": f"It is {task}.{sample}<|im_end|>",
        **changes,
    }


def verl(step: int, sample: int, **changes: Any) -> dict[str, Any]:
    return {
        "input": "system\nBe brief.\nuser\nWhat is 2+2?\nassistant\n",
        "output": f"It is {sample}.",
        "gts": "4",
        "score": float(sample == 0),
        "step": step,
        "acc": sample == 0,
        **changes,
    }


def nemo(sample: int, **changes: Any) -> dict[str, Any]:
    """A batch of one, padded to eight tokens."""
    return {
        "content": [["What is 2+2?", f"It is {sample}."]],
        "rewards": [float(sample)],
        "input_lengths": [6],
        "token_ids": [[5, 6, 7, 8, sample, 2, 0, 0]],
        "token_loss_mask": [[0, 0, 0, 1, 1, 1, 0, 0]],
        "sample_loss_mask": [1.0],
        "advantages": [[0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.0, 0.0]],
        "generation_logprobs": [[0.0, 0.0, 0.0, -0.1, -0.2, -0.3, 0.0, 0.0]],
        "prev_logprobs": [[0.0, 0.0, 0.0, -0.1, -0.25, -0.3, 0.0, 0.0]],
        "idx": sample,
        **changes,
    }


def own(group: str, sample: int, **changes: Any) -> dict[str, Any]:
    return {
        "eagleray": 1,
        "group": group,
        "sample": sample,
        "reward": 1.0,
        "messages": [
            {"role": "user", "content": "What is 2+2?"},
            {"role": "assistant", "content": "4"},
        ],
        "token_ids": [5, 6, 7],
        "token_texts": ["What", "?", "4"],
        "mask": [0, 0, 1],
        "logprobs": [0.0, 0.0, -0.5],
        "versions": [-1, -1, 7],
        "finish_reason": "stop",
        "latency_s": 0.25,
        **changes,
    }


def write(path: Path, records: Iterable[Any], *, escaped: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(record, ensure_ascii=escaped) + "\n" for record in records]
    path.write_text("".join(lines), encoding="utf-8", errors="surrogatepass")
    return path
