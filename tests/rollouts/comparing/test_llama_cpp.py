"""Real servers of llama.cpp, compared with each other."""

from __future__ import annotations

import asyncio
import json
import textwrap
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.cli.rollouts.rollouts_compare import EXIT_CODES
from eagleray.cli.rollouts.shapes import COMPARISON
from eagleray.rollouts.comparing.comparison import compare
from eagleray.rollouts.comparing.engines.detection import opened_engine
from eagleray.rollouts.comparing.engines.http import EngineAddress
from eagleray.rollouts.comparing.engines.llama_cpp import LlamaCppEngine
from eagleray.rollouts.comparing.model import (
    ComparisonKind,
    EngineComparison,
    RolloutPrompt,
    TokenSequence,
)

from tests.asked import ask
from tests.engine.fixtures import Engine, serving
from tests.rollouts.observed import observe
from tests.rollouts.test_model_waves import plan_for

# The token that ends a turn in the tests' model.
END = 2
OTHER_END = 0
PROMPTS = [RolloutPrompt(at, f"def parse_{at}(self, namespace") for at in range(12)]
CHATS = [
    RolloutPrompt(at, messages=({"role": "user", "content": f"Add argument {at}"},))
    for at in range(4)
]


@pytest.fixture(scope="module")
def without_flash_attention() -> Iterator[Engine]:
    with serving("--flash-attention", "off") as engine:
        yield engine


@asynccontextmanager
async def opened(*engines: Engine) -> AsyncIterator[list[LlamaCppEngine]]:
    async with AsyncExitStack() as stack:
        clients = []
        for engine in engines:
            client = await opened_engine(EngineAddress("engine", engine.url, engine.key))
            assert isinstance(client, LlamaCppEngine)
            stack.push_async_callback(client.close)
            clients.append(client)
        yield clients


async def compared(
    a: Engine, b: Engine, prompts: list[RolloutPrompt] = PROMPTS
) -> EngineComparison:
    async with opened(a, b) as (first, second):
        return await compare(first, second, prompts, 24)


async def test_server_agrees_with_itself(without_flash_attention: Engine) -> None:
    server = without_flash_attention
    chats = [evolve(each, index=each.index + len(PROMPTS)) for each in CHATS]
    found = await compared(server, server, PROMPTS + chats)
    assert found.verdict.reading.kind is ComparisonKind.CONSISTENT
    assert (found.left_out, found.greedy.divergences) == (0, ())
    assert (found.a.kind, found.a.dtype) == ("llama.cpp", "float32")


async def test_servers_in_the_same_16_bits_are_consistent() -> None:
    stored = ("--gguf-dtype", "float16")
    with serving(*stored) as first, serving(*stored) as second:
        found = await compared(first, second)
        with serving(*stored, "--flash-attention", "off") as other:
            by_kernels = await compared(first, other)
    assert found.verdict.reading.kind is ComparisonKind.CONSISTENT
    assert (found.a.dtype, found.b.dtype) == ("float16", "float16")
    assert by_kernels.verdict.reading.kind is ComparisonKind.KERNEL_MISMATCH


async def test_flash_attention_is_a_kernel_mismatch(
    engine: Engine, without_flash_attention: Engine
) -> None:
    found = await compared(engine, without_flash_attention)
    assert found.verdict.reading.kind is ComparisonKind.KERNEL_MISMATCH
    assert all(each.is_near_tie for each in found.greedy.divergences)


async def test_other_weights_template_tokenizer_and_defaults_are_named(
    without_flash_attention: Engine, tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(Path(textwrap.__file__).read_text())
    template = "{% for each in messages %}{{ each['content'] }}{% endfor %}"
    for arguments, prompts, expected in (
        (("--noise", "0.01"), PROMPTS, ComparisonKind.OTHER_MODEL),
        (("--chat-template", template), CHATS, ComparisonKind.TEMPLATE_MISMATCH),
        (("--corpus", str(corpus)), PROMPTS, ComparisonKind.TOKENIZER_DRIFT),
        (("--temperature", "0.2"), PROMPTS, ComparisonKind.SAMPLING_MISMATCH),
    ):
        with serving("--flash-attention", "off", *arguments) as other:
            found = await compared(without_flash_attention, other, prompts)
        assert found.verdict.reading.kind is expected, arguments


async def test_forced_tokens_cost_one_request_and_have_the_logprobs_of_each_position(
    engine: Engine,
) -> None:
    prompt = (300, 301, 302, 303)
    forced = [(61, 432, 418, 5, 700), (61, 432, END), (END,), (61, END, 432), (61, END, END)]
    sequences = [TokenSequence(at, prompt, each) for at, each in enumerate(forced)]
    async with opened(engine) as (client,):
        await client.facts()
        scored = await client.score(sequences, lambda done: None)
        by_positions = [await client._by_positions(each) for each in sequences]
        at_once = await client._by_grammar(sequences[0], forced[0])
    assert [each.ids for each in scored] == forced
    for whole, single in zip(scored, by_positions, strict=True):
        assert whole.logprobs == pytest.approx(single.logprobs, abs=5e-3)
        assert len(whole.tops) == len(whole.ids)
    assert at_once is not None and at_once.ids == forced[0]


async def test_other_end_of_a_generation_needs_no_request_for_each_token(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models have several of them; the server names one."""
    async with opened(engine) as (client,):
        await client.facts()
        prompts = await client.prompt_ids(
            [RolloutPrompt(at, f"def parse_{at}(self, namespace") for at in range(80)]
        )
        generated = await client.generate(prompts, 64, lambda done: None)
        ended = [
            TokenSequence(at, prompt, each.ids)
            for at, (prompt, each) in enumerate(zip(prompts, generated, strict=True))
            if len(each.ids) < 64 and each.ids[-1] == OTHER_END
        ]
        assert ended
        monkeypatch.delattr(LlamaCppEngine, "_by_positions")
        scored = await client.score(ended, lambda done: None)
    assert [each.ids for each in scored] == [each.completion for each in ended]


def test_command_prints_the_documented_json_and_exits_with_0(
    without_flash_attention: Engine, tmp_path: Path
) -> None:
    engine = without_flash_attention
    data, out = tmp_path / "prompts.jsonl", tmp_path / "out.json"
    data.write_text('{"prompt": "def main("}\n{broken\n{"prompt": "import "}\n')
    env = {"EAGLERAY_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": engine.key}
    command = ("rollouts", "compare", engine.url, engine.url, "--data", str(data))
    answer = ask(env, *command, "--json", "--max-tokens", "8", "--out", str(out))
    assert answer.returncode == 0
    printed = json.loads(answer.stdout)
    assert printed["notes"][-1] == "1 line is left out: it can't be read."
    assert list(printed) == list(COMPARISON)
    assert printed["verdict"] == "consistent"
    assert [row["tokens"] for row in printed["sequences"]] == [8, 8]
    assert "completion_ids" in json.loads(out.read_text())["sequences"][0]
    assert engine.key not in answer.stdout + answer.stderr
    assert "Generating: 1/2" in answer.stderr

    text = ask(env, *command, "--limit", "1")
    assert text.stdout.startswith("Consistent (95%). Both engines compute the same probabilities.")
    refused = ask({**env, "OPENAI_API_KEY": "sk-wrong"}, *command)
    assert (refused.returncode, "rejects the API key" in refused.stderr) == (1, True)


def test_command_exits_with_a_code_of_its_own_for_each_verdict(
    without_flash_attention: Engine, tmp_path: Path
) -> None:
    codes = [EXIT_CODES[kind] for kind in ComparisonKind]
    assert len(set(codes)) == len(codes)
    # An error, and arguments that are wrong.
    assert not {1, 2} & set(codes)
    data = tmp_path / "prompts.jsonl"
    data.write_text("".join(json.dumps({"prompt": each.text}) + "\n" for each in PROMPTS))
    env = {
        "EAGLERAY_HOME": str(tmp_path / "home"),
        "OPENAI_API_KEY": without_flash_attention.key,
    }
    with serving("--flash-attention", "off", "--noise", "0.01") as other:
        engines = without_flash_attention.url, other.url
        answer = ask(env, "rollouts", "compare", *engines, "--data", str(data))
    assert answer.returncode == EXIT_CODES[ComparisonKind.OTHER_MODEL]
    assert answer.stdout.startswith("Other model")


def test_saved_wave_agrees_with_its_server_and_not_with_other_kernels(
    engine: Engine, without_flash_attention: Engine, tmp_path: Path
) -> None:
    """The server makes the ids of the prompts, which its responses lack."""
    trace = tmp_path / "wave.jsonl"
    wave = plan_for(without_flash_attention, "AsksLogprobs", groups=3, group_size=2)
    asyncio.run(observe(wave, trace=trace))
    env = {"EAGLERAY_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": engine.key}
    command = ("rollouts", "compare", str(trace))
    same = json.loads(ask(env, *command, without_flash_attention.url, "--json").stdout)
    assert (same["verdict"], len(same["sequences"]), same["a"]["kind"]) == ("consistent", 6, "dump")
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    generated = [record["requests"][-1]["response"]["usage"] for record in records]
    assert [row["prompt_tokens"] for row in same["sequences"]] == [
        usage["prompt_tokens"] for usage in generated
    ]
    other = ask(env, *command, engine.url)
    assert other.returncode == EXIT_CODES[ComparisonKind.KERNEL_MISMATCH]
    assert other.stdout.startswith("Kernel mismatch")
    refused = ask(env, *command, str(trace))
    assert (refused.returncode, refused.stderr.splitlines()) == (
        1,
        [
            f"eagleray: The runs of {trace} lack the token ids of their prompts.",
            "Start or add the server of the wave, which has them.",
        ],
    )


def test_ids_that_an_engine_lacks_are_named_as_drift_of_the_tokenizer(
    without_flash_attention: Engine, tmp_path: Path
) -> None:
    """The smaller vocabulary has the first ids of the larger one, so that short prompts have the same ids."""
    data, dump = tmp_path / "prompts.jsonl", tmp_path / "dump.jsonl"
    data.write_text('{"prompt": "x y z"}\n{"prompt": "1 2 3"}\n')
    rows = [
        {"prompt_ids": [40, 41], "response_ids": [id_, 7], "logprobs": [-1, -2]} for id_ in (5, 700)
    ]
    dump.write_text("".join(json.dumps(row) + "\n" for row in rows))
    large = without_flash_attention.url
    env = {"EAGLERAY_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": without_flash_attention.key}
    drift = EXIT_CODES[ComparisonKind.TOKENIZER_DRIFT]
    with serving("--flash-attention", "off", "--vocabulary", "400") as small:
        name = small.address.removeprefix("http://")
        generated = ask(env, "rollouts", "compare", large, small.url, "--data", str(data))
        forced = ask(env, "rollouts", "compare", str(dump), small.url, "--json")
        valid = ask(env, "rollouts", "compare", small.url, large, "--data", str(data))
        data.write_text('{"prompt": "def parse(self, namespace"}\n')
        merged = ask(env, "rollouts", "compare", small.url, large, "--data", str(data))
    assert generated.returncode == drift
    assert generated.stdout.startswith(
        f"Tokenizer drift (95%). The vocabularies differ: {name} has 400 token ids, and "
    )
    assert (
        f"2 sequences are left out: they have token ids that {name} doesn't have."
        in generated.stdout
    )
    compared = json.loads(forced.stdout)
    assert (forced.returncode, compared["left_out"], len(compared["sequences"])) == (drift, 1, 1)
    assert (compared["b"]["vocabulary"], "and 700 is none of them" in compared["sentence"]) == (
        400,
        True,
    )
    # B has all ids of A: what is compared are other weights, and the sizes are said.
    assert valid.returncode == EXIT_CODES[ComparisonKind.OTHER_MODEL]
    assert "A has 400 token ids, B has 768." in valid.stdout.splitlines()
    assert merged.returncode == drift
    assert "The tokenizers differ: the same text has other token ids" in merged.stdout
