"""Computes token ids, greedy tokens and logprobs of a model with torch, as the reference for an inference server.

Runs in the user's interpreter, which has torch and transformers, as long as its input is open.  Each line of the input is
a request as JSON, each line of the output an answer: any number of `{"done": N}`, then the result or `{"error": TEXT}`.
Code that lies beside a model is never run, and nothing is downloaded.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

# This folder has modules of Eagleray, whose names the user's libraries may need for others.
del sys.path[0]

# The most that the logits of one batch may take, in float32.
_BATCH_BYTES = 2**28
_GENERATED_AT_ONCE = 32
_TOPS = 2

Json = dict[str, Any]
OnDone = Callable[[int], None]
# The ids of a prompt and of its completion.
TokenPair = tuple[list[int], list[int]]


class Reference:
    """One model; loaded again for another dtype."""

    def __init__(self, folder: str, dtype: str, device: str) -> None:
        self._torch = import_module("torch")
        self._transformers = import_module("transformers")
        self._folder = folder
        self._device = device or "cpu"
        self._tokenizer: Any = None
        self._model: Any = None
        self._written = ""
        self._own = dtype or "auto"
        self._load(self._own)

    @property
    def dtype(self) -> str:
        return str(self._model.dtype).replace("torch.", "")

    @property
    def kind(self) -> str:
        return str(self._model.config.model_type)

    @property
    def vocabulary(self) -> int:
        return int(self._model.get_input_embeddings().num_embeddings)

    def prompt_ids(self, prompts: list[Json]) -> list[list[int]]:
        return [self._prompt_ids(prompt) for prompt in prompts]

    def plain_ids(self, texts: list[str]) -> list[list[int]]:
        tokenizer = self._loaded_tokenizer()
        return [tokenizer.encode(text, add_special_tokens=False) for text in texts]

    def texts(self, ids: list[int]) -> list[str]:
        tokenizer = self._loaded_tokenizer()
        return [tokenizer.decode([token]) for token in ids]

    def generate(self, prompts: list[list[int]], max_tokens: int, on_done: OnDone) -> list[Json]:
        # `score` may have loaded another dtype.
        self._load(self._own)
        results: list[Json] = []
        for start in range(0, len(prompts), _GENERATED_AT_ONCE):
            results += self._generated(prompts[start : start + _GENERATED_AT_ONCE], max_tokens)
            on_done(len(results))
        return results

    def score(
        self, sequences: list[TokenPair], dtype: str, temperatures: list[float], on_done: OnDone
    ) -> list[Json]:
        """Sequences of the same lengths form batches without padding, which would choose other kernels."""
        if dtype and dtype != self.dtype:
            self._load(dtype)
        results: dict[int, Json] = {}
        done = 0
        for batch in self._batches(sequences):
            for at, result in zip(
                batch, self._scored([sequences[at] for at in batch], temperatures)
            ):
                results[at] = result
            done += len(batch)
            on_done(done)
        return [results[at] for at in range(len(sequences))]

    def _load(self, dtype: str) -> None:
        if dtype == self._written:
            return
        self._model = None
        major = int(self._transformers.__version__.split(".")[0])
        value = dtype if dtype == "auto" else getattr(self._torch, dtype)
        self._model = self._transformers.AutoModelForCausalLM.from_pretrained(
            self._folder,
            trust_remote_code=False,
            local_files_only=True,
            **{"dtype" if major >= 5 else "torch_dtype": value},
        )
        self._model.to(self._device).eval()
        self._written = dtype

    def _loaded_tokenizer(self) -> Any:
        if self._tokenizer is None:
            self._tokenizer = self._transformers.AutoTokenizer.from_pretrained(
                self._folder, trust_remote_code=False, local_files_only=True
            )
        return self._tokenizer

    def _prompt_ids(self, prompt: Json) -> list[int]:
        tokenizer = self._loaded_tokenizer()
        messages = prompt.get("messages")
        if not messages:
            encoded: list[int] = tokenizer.encode(prompt["text"], add_special_tokens=True)
            return encoded
        ids: list[int] = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=True, return_dict=False
        )
        return ids

    def _batches(self, sequences: list[TokenPair]) -> Iterator[list[int]]:
        groups: dict[tuple[int, int], list[int]] = {}
        for at, (prompt, completion) in enumerate(sequences):
            groups.setdefault((len(prompt), len(completion)), []).append(at)
        for (_, length), members in groups.items():
            size = max(1, _BATCH_BYTES // (4 * self._model.config.vocab_size * (length + 1)))
            for start in range(0, len(members), size):
                yield members[start : start + size]

    def _scored(self, sequences: list[TokenPair], temperatures: list[float]) -> list[Json]:
        torch = self._torch
        count = len(sequences[0][1])
        if not count:
            return [_result([], [], [], {}) for _ in sequences]
        ids = torch.tensor([prompt + completion for prompt, completion in sequences])
        with torch.inference_mode():
            logits = self._logits(ids.to(self._device), count + 1)[:, :-1].float()
            targets = ids[:, -count:, None].to(self._device)
            logprobs = logits.log_softmax(-1)
            chosen = logprobs.gather(-1, targets)[..., 0]
            tops = logprobs.topk(_TOPS, -1)
            at = {
                str(each): (logits / each).log_softmax(-1).gather(-1, targets)[..., 0].tolist()
                for each in temperatures
            }
        if not bool(torch.isfinite(chosen).all()):
            raise ValueError("logits are not finite in " + self.dtype)
        rows = zip(chosen.tolist(), tops.indices.tolist(), tops.values.tolist())
        return [
            _result(
                sequences[row][1],
                values,
                [list(zip(*pair)) for pair in zip(indices, likeliest)],
                {each: listed[row] for each, listed in at.items()},
            )
            for row, (values, indices, likeliest) in enumerate(rows)
        ]

    def _logits(self, ids: Any, count: int) -> Any:
        """The logits of the last positions; the logits of a whole prompt may not fit into memory."""
        names = inspect.signature(self._model.forward).parameters
        if "logits_to_keep" in names:
            return self._model(input_ids=ids, use_cache=False, logits_to_keep=count).logits
        return self._model(input_ids=ids, use_cache=False).logits[:, -count:]

    def _generated(self, prompts: list[list[int]], max_tokens: int) -> list[Json]:
        """Greedy completions of some prompts, padded on the left."""
        torch = self._torch
        longest = max(map(len, prompts))
        padded = [[0] * (longest - len(prompt)) + prompt for prompt in prompts]
        mask = torch.tensor([[0] * (longest - len(each)) + [1] * len(each) for each in prompts])
        mask = mask.to(self._device)
        step = torch.tensor(padded, device=self._device)
        places = (mask.cumsum(-1) - 1).clamp(min=0)
        ends = self._ends()
        past = None
        results = [_result([], [], [], {}) for _ in prompts]
        open_rows = set(range(len(prompts)))
        with torch.inference_mode():
            for _ in range(max_tokens):
                answer = self._model(
                    input_ids=step,
                    attention_mask=mask,
                    position_ids=places,
                    past_key_values=past,
                    use_cache=True,
                )
                past = answer.past_key_values
                tops = answer.logits[:, -1].float().log_softmax(-1).topk(_TOPS, -1)
                indices, values = tops.indices.tolist(), tops.values.tolist()
                for row in sorted(open_rows):
                    results[row]["ids"].append(indices[row][0])
                    results[row]["logprobs"].append(values[row][0])
                    results[row]["tops"].append(list(zip(indices[row], values[row])))
                    if indices[row][0] in ends:
                        open_rows.discard(row)
                if not open_rows:
                    break
                step = tops.indices[:, :1]
                mask = torch.cat([mask, mask.new_ones((len(prompts), 1))], -1)
                places = places[:, -1:] + 1
        return results

    def _ends(self) -> set[int]:
        generation = getattr(self._model, "generation_config", None)
        ends = getattr(generation, "eos_token_id", None)
        if ends is None:
            ends = self._model.config.eos_token_id
        return set(ends) if isinstance(ends, list) else {ends}


def _result(
    ids: list[int], logprobs: list[float], tops: list[Any], at: dict[str, list[float]]
) -> Json:
    return {"ids": ids, "logprobs": logprobs, "tops": tops, "at": at}


def _answer(reference: Reference, request: Json, on_done: OnDone) -> Json:
    name = request["do"]
    if name == "prompt_ids":
        return {"ids": reference.prompt_ids(request["prompts"])}
    if name == "plain_ids":
        return {"ids": reference.plain_ids(request["texts"])}
    if name == "texts":
        return {"texts": reference.texts(request["ids"])}
    if name == "generate":
        return {"results": reference.generate(request["prompts"], request["max_tokens"], on_done)}
    results = reference.score(
        request["sequences"], request["dtype"], request["temperatures"], on_done
    )
    return {"results": results, "dtype": reference.dtype}


def main() -> None:
    # Libraries print to the standard output, which is for answers only.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def write(value: Json) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    reference: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "open":
                reference = Reference(request["folder"], request["dtype"], request["device"])
                facts = {"dtype": reference.dtype, "model": reference.kind}
                write({**facts, "vocabulary": reference.vocabulary})
            else:
                write(_answer(reference, request, lambda done: write({"done": done})))
        except Exception as error:
            write({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
