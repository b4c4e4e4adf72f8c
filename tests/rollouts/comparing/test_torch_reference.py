"""A real model in torch as the reference for a real server: the closing verdicts, and what stops the process."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from eagleray.rollouts.comparing.comparison import compare
from eagleray.rollouts.comparing.engines.detection import opened_engine
from eagleray.rollouts.comparing.engines.dump import LogprobDump
from eagleray.rollouts.comparing.engines.engine import ComparedEngine
from eagleray.rollouts.comparing.engines.http import EngineAddress
from eagleray.rollouts.comparing.engines.torch_reference import (
    TorchModel,
    TorchReference,
)
from eagleray.rollouts.comparing.model import (
    ComparisonKind,
    EngineComparison,
    RolloutPrompt,
    ScoredTokens,
    TokenSequence,
)

from tests.engine.fixtures import Engine, engine_command, serving
from tests.shared_clusters import TORCH_PYTHON

# All tests share the processes: a start of torch and transformers costs seconds.
pytestmark = [
    pytest.mark.torch_ranks,
    pytest.mark.asyncio(loop_scope="module"),
]

ROOT = Path(__file__).parents[3]
PROMPTS = [
    *(RolloutPrompt(at, f"def parse_{at}(self, namespace") for at in range(12)),
    RolloutPrompt(12, messages=({"role": "user", "content": "Add an argument"},)),
]
Kind = ComparisonKind


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("model")
    subprocess.run(engine_command("--make", str(folder)), cwd=ROOT, check=True)
    with pytest.MonkeyPatch.context() as environ:
        # Threads of torch that wait for each other make a model this small slower.
        environ.setenv("OMP_NUM_THREADS", "1")
        yield folder


@pytest.fixture(scope="module")
def without_flash_attention(model: Path) -> Iterator[Engine]:
    with serving("--flash-attention", "off", "--model", str(model / "model.gguf")) as engine:
        yield engine


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def float32(model: Path) -> AsyncIterator[TorchReference]:
    reference = TorchReference(TorchModel(model), TORCH_PYTHON)
    yield reference
    await reference.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bfloat16(model: Path) -> AsyncIterator[TorchReference]:
    reference = TorchReference(TorchModel(model, "bfloat16"), TORCH_PYTHON)
    yield reference
    await reference.close()


async def compared(server: Engine, reference: ComparedEngine) -> EngineComparison:
    engine = await opened_engine(EngineAddress("engine", server.url, server.key))
    try:
        return await compare(engine, reference, PROMPTS, 48)
    finally:
        await engine.close()


async def test_engines_with_the_same_weights_and_kernels_are_consistent(
    without_flash_attention: Engine, float32: TorchReference
) -> None:
    found = await compared(without_flash_attention, float32)
    assert found.verdict.reading.kind is Kind.CONSISTENT
    assert found.prompts.different == 0
    assert found.greedy.first is None
    assert found.metrics is not None
    assert found.metrics.max_abs_dlogp < 1e-4


async def test_ids_outside_of_the_vocabulary_are_left_out(float32: TorchReference) -> None:
    """An index error of torch wouldn't say which side lacks what."""
    completions = ((5, 6), (5, 800))
    sequences = tuple(TokenSequence(at, (40,), ids) for at, ids in enumerate(completions))
    scored = tuple(ScoredTokens(ids, (-5.0, -5.0)) for ids in completions)
    found = await compare(LogprobDump("dump", sequences, scored, 0), float32)
    assert found.verdict.reading.kind is Kind.TOKENIZER_DRIFT
    assert "has 768 token ids, and 800 is none of them" in found.verdict.reading.sentence
    assert (len(found.sequences), found.left_out) == (1, 1)


async def test_flash_attention_is_a_kernel_mismatch(
    engine: Engine, float32: TorchReference
) -> None:
    assert (await compared(engine, float32)).verdict.reading.kind is Kind.KERNEL_MISMATCH


async def test_trainer_in_bfloat16_is_a_precision_mismatch(
    without_flash_attention: Engine, bfloat16: TorchReference
) -> None:
    found = await compared(without_flash_attention, bfloat16)
    assert found.verdict.reading.kind is Kind.PRECISION_MISMATCH
    # The experiment in float32 says it, not a limit.
    assert found.verdict.reading.confidence >= 0.95
    # It generates in its own dtype, also after that experiment.
    server = without_flash_attention
    engine = await opened_engine(EngineAddress("engine", server.url, server.key))
    try:
        exchanged = await compare(bfloat16, engine, PROMPTS[:4], 16)
    finally:
        await engine.close()
    assert exchanged.verdict.reading.kind is Kind.PRECISION_MISMATCH


@pytest.mark.parametrize(("dtype", "most"), [("float16", 4e-3), ("bfloat16", 3e-2)])
async def test_server_in_16_bits_is_a_precision_mismatch(
    float32: TorchReference, dtype: str, most: float
) -> None:
    with serving("--gguf-dtype", dtype) as server:
        found = await compared(server, float32)
    reading, metrics = found.verdict.reading, found.metrics
    assert (found.a.dtype, found.b.dtype) == (dtype, "float32")
    assert reading.kind is Kind.PRECISION_MISMATCH
    assert reading.confidence >= 0.75
    # Its kernels round at other places than torch's in 16 bits, which are therefore no nearer.
    assert f"The precision differs: {dtype} and float32." in reading.sentence
    assert metrics is not None
    assert most / 10 < metrics.mean_abs_dlogp < most
    assert metrics.k3_kl < most**2
    assert all(each.is_near_tie for each in found.greedy.divergences)


async def test_stale_weights_in_16_bits_are_not_taken_for_the_precision(
    float32: TorchReference,
) -> None:
    with serving("--gguf-dtype", "bfloat16", "--noise", "0.01") as stale:
        found = await compared(stale, float32)
    assert found.verdict.reading.kind is Kind.OTHER_MODEL


async def test_weights_of_another_step_are_stale(
    float32: TorchReference, bfloat16: TorchReference
) -> None:
    with serving("--flash-attention", "off", "--noise", "0.01") as stale:
        for reference in (float32, bfloat16):
            found = await compared(stale, reference)
            assert found.verdict.reading.kind is Kind.OTHER_MODEL


class Sharpened:
    """A server whose logprobs are at temperature 0.6, as vLLM's processed ones are."""

    def __init__(self, reference: TorchReference) -> None:
        self._reference = reference
        self.facts = reference.facts
        self.prompt_ids = reference.prompt_ids
        self.plain_ids = reference.plain_ids
        self.score = reference.score
        self.texts_of = reference.texts_of
        self.close = reference.close

    async def generate(
        self, prompts: list[tuple[int, ...]], max_tokens: int, on_done: object
    ) -> list[ScoredTokens]:
        generated = await self._reference.generate(prompts, max_tokens, lambda done: None)
        sequences = [
            TokenSequence(at, prompt, each.ids)
            for at, (prompt, each) in enumerate(zip(prompts, generated, strict=True))
        ]
        at_temperature = await self._reference.score_at(sequences, [0.6], lambda done: None)
        logprobs = iter(at_temperature[0.6])
        return [
            ScoredTokens(each.ids, tuple(next(logprobs) for _ in each.ids)) for each in generated
        ]


async def test_logprobs_of_another_temperature_are_named(float32: TorchReference) -> None:
    found = await compare(Sharpened(float32), float32, PROMPTS, 16)  # type: ignore[arg-type]
    assert found.verdict.reading.kind is Kind.SAMPLING_MISMATCH
    assert "temperature 0.6" in found.verdict.reading.sentence


async def test_reference_generates_what_the_server_does(
    without_flash_attention: Engine, float32: TorchReference
) -> None:
    """Padded batches of prompts of different lengths choose the same tokens."""
    server = without_flash_attention
    engine = await opened_engine(EngineAddress("engine", server.url, server.key))
    try:
        prompts = await float32.prompt_ids(PROMPTS)
        theirs = await engine.generate(prompts, 32, lambda done: None)
    finally:
        await engine.close()
    ours = await float32.generate(prompts, 32, lambda done: None)
    assert [each.ids for each in ours] == [each.ids for each in theirs]
