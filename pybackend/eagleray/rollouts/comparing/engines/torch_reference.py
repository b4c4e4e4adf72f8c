"""A model in torch, computed by `remote/scripts/torch_reference.py` in the user's interpreter."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from attrs import frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import t
from eagleray.protocol import jsonlines
from eagleray.rollouts.comparing import errors
from eagleray.rollouts.comparing.engines.engine import OnDone
from eagleray.rollouts.comparing.model import (
    EngineFacts,
    Ids,
    LogprobSource,
    RankedToken,
    RolloutPrompt,
    ScoredTokens,
    TokenSequence,
)
from eagleray.routes.commands import kill, start_process

PROGRAM = Path(__file__).parents[3] / "remote" / "scripts" / "torch_reference.py"
# The logprobs of all sequences come as one line.
_LONGEST_LINE = 2**30
_SHOWN_OUTPUT = 20_000
# How long a process that no longer reads may take to end.
_END_S = 5.0


@frozen
class TorchModel:
    """A folder with a Hugging Face model; without a `dtype`, the one of its weights."""

    folder: Path
    dtype: str = ""
    device: str = ""

    @property
    def name(self) -> str:
        return f"torch:{self.folder.name}" + (f" ({self.dtype})" if self.dtype else "")


class TorchReference:
    """Owns the process with the model, which `close` ends; requests are made one after another."""

    def __init__(self, model: TorchModel, python: str) -> None:
        self._model = model
        self._python = python
        self._process: asyncio.subprocess.Process | None = None
        self._output: IO[bytes] | None = None
        self._facts: EngineFacts | None = None
        self._opening = asyncio.Lock()
        self._requesting = asyncio.Lock()

    async def facts(self) -> EngineFacts:
        async with self._opening:
            if self._facts is None:
                self._facts = await self._open()
            return self._facts

    async def prompt_ids(self, prompts: Sequence[RolloutPrompt]) -> list[Ids]:
        written = [{"text": each.text, "messages": list(each.messages)} for each in prompts]
        answer = await self._ask({"do": "prompt_ids", "prompts": written})
        return [tuple(ids) for ids in answer["ids"]]

    async def plain_ids(self, texts: Sequence[str]) -> list[Ids]:
        answer = await self._ask({"do": "plain_ids", "texts": list(texts)})
        return [tuple(ids) for ids in answer["ids"]]

    async def generate(
        self, prompts: Sequence[Ids], max_tokens: int, on_done: OnDone
    ) -> list[ScoredTokens]:
        request = {"do": "generate", "prompts": prompts, "max_tokens": max_tokens}
        answer = await self._ask(request, on_done)
        return [_scored(each) for each in answer["results"]]

    async def score(
        self, sequences: Sequence[TokenSequence], on_done: OnDone
    ) -> list[ScoredTokens]:
        results, _ = await self._score(sequences, "", (), on_done)
        return results

    async def score_as(
        self, sequences: Sequence[TokenSequence], dtype: str, on_done: OnDone
    ) -> list[ScoredTokens]:
        """As `score`, by the model loaded with another dtype."""
        results, _ = await self._score(sequences, dtype, (), on_done)
        return results

    async def score_at(
        self, sequences: Sequence[TokenSequence], temperatures: Sequence[float], on_done: OnDone
    ) -> Mapping[float, list[float]]:
        """The logprobs of all tokens at each temperature."""
        _, written = await self._score(sequences, "", temperatures, on_done)
        return {
            each: [logprob for at in written for logprob in at[str(each)]] for each in temperatures
        }

    async def texts_of(self, tokens: Sequence[int]) -> dict[int, str]:
        answer = await self._ask({"do": "texts", "ids": list(tokens)})
        return dict(zip(tokens, answer["texts"], strict=True))

    async def close(self) -> None:
        if self._process is not None:
            await kill(self._process)
        if self._output is not None:
            self._output.close()

    async def _open(self) -> EngineFacts:
        folder, output = await off_loop(self._prepared, _close_output)
        self._output = output
        try:
            self._process = await start_process(
                *(self._python, "-u", str(PROGRAM)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=output,
                env={**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
                limit=_LONGEST_LINE,
                start_new_session=True,
            )
        except OSError as error:
            raise errors.reference_failed(f"{self._python}: {error.strerror}") from error
        answer = await self._request(
            {
                "do": "open",
                "folder": folder,
                "dtype": self._model.dtype,
                "device": self._model.device,
            }
        )
        return EngineFacts(
            name=self._model.name,
            kind="torch",
            model=str(answer["model"]),
            dtype=str(answer["dtype"]),
            logprobs=LogprobSource.RAW,
            vocabulary=int(answer.get("vocabulary", 0)),
        )

    def _prepared(self) -> tuple[str, IO[bytes]]:
        """The folder, and a file for what the process prints, which `close` closes."""
        folder = self._model.folder
        if not folder.is_dir():
            raise errors.reference_failed(t("{path} is not a folder", path=str(folder)))
        return str(folder.resolve()), tempfile.TemporaryFile()

    async def _score(
        self,
        sequences: Sequence[TokenSequence],
        dtype: str,
        temperatures: Sequence[float],
        on_done: OnDone,
    ) -> tuple[list[ScoredTokens], list[dict[str, list[float]]]]:
        facts = await self.facts()
        answer = await self._ask(
            {
                "do": "score",
                "sequences": [(each.prompt, each.completion) for each in sequences],
                "dtype": dtype or facts.dtype,
                "temperatures": list(temperatures),
            },
            on_done,
        )
        return [_scored(each) for each in answer["results"]], [
            each["at"] for each in answer["results"]
        ]

    async def _ask(self, request: dict[str, Any], on_done: OnDone = lambda done: None) -> Any:
        await self.facts()
        return await self._request(request, on_done)

    async def _request(self, request: dict[str, Any], on_done: OnDone = lambda done: None) -> Any:
        async with self._requesting:
            return await self._answer(request, on_done)

    async def _answer(self, request: dict[str, Any], on_done: OnDone) -> Any:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(jsonlines.encode(request))
            await process.stdin.drain()
            while line := await process.stdout.readline():
                answer = json.loads(line)
                if "error" in answer:
                    raise errors.reference_failed(str(answer["error"]), self._printed())
                if "done" not in answer:
                    return answer
                on_done(int(answer["done"]))
        except ConnectionError as error:
            # It reads no more, usually because it is about to end.
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), _END_S)
            if process.returncode is None:
                raise errors.reference_failed(str(error), self._printed()) from error
        except ValueError as error:
            raise errors.reference_failed(str(error), self._printed()) from error
        code = await process.wait()
        raise errors.reference_failed(t("it ended with {code}", code=code), self._printed())

    def _printed(self) -> str:
        assert self._output is not None
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - _SHOWN_OUTPUT))
        return self._output.read().decode("utf-8", "replace")


def _close_output(prepared: tuple[str, IO[bytes]]) -> None:
    prepared[1].close()


def _scored(written: dict[str, Any]) -> ScoredTokens:
    return ScoredTokens(
        tuple(written["ids"]),
        tuple(written["logprobs"]),
        tuple(
            tuple(RankedToken(int(id_), float(logprob)) for id_, logprob in top)
            for top in written["tops"]
        ),
    )
