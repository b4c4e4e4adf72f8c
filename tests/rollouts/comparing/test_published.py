"""Published differences: each row has its source, and names tell the class of a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.rollouts.comparing.model import EngineFacts
from eagleray.rollouts.comparing.published import PUBLISHED, ModelClass, model_class, table

DOCS = Path(__file__).parents[3] / "docs" / "internals" / "rollouts.md"


def class_of(name: str, a: str = "bfloat16", b: str = "bfloat16") -> ModelClass:
    return model_class(EngineFacts("a", "vLLM", name), EngineFacts("b", "torch"), (a, b))


def test_every_figure_has_its_source() -> None:
    assert all(row.source and 0 < row.k3 < row.usual_k3 for row in PUBLISHED)


def test_docs_have_the_table() -> None:
    """Print `published.table()` into docs/internals/rollouts.md after a change."""
    assert table() in DOCS.read_text()


def test_published_figures_become_k3() -> None:
    """By hand: sd 0.0499 is 0.0499^2 / 2; 34.3 % outside of 10 % is an sd of 0.105."""
    by_source = {row.source: row.k3 for row in PUBLISHED if row.precision == "bfloat16"}
    assert by_source["trl#6789"] == pytest.approx(1.245e-3, rel=1e-3)
    assert by_source["verl#6280"] == pytest.approx(0.1055**2 / 2, rel=0.01)
    assert by_source["vllm-project/vime#64"] == pytest.approx(9.5e-5, rel=0.01)


@pytest.mark.parametrize(
    ("name", "billions", "is_moe"),
    [
        ("Qwen/Qwen3-30B-A3B", 30, True),
        ("Qwen2.5-0.5B-Instruct", 0.5, False),
        ("EleutherAI/pythia-410m", 0.41, False),
        ("Mixtral-8x7B-v0.1", None, True),
        ("Qwen1.5-MoE-A2.7B", None, True),
        ("Laguna-XS.2", None, None),
        ("checkpoint-b200", None, None),
    ],
)
def test_names_tell_size_and_routing(
    name: str, billions: float | None, is_moe: bool | None
) -> None:
    found = class_of(name)
    assert (found.billions, found.is_moe, found.quantized) == (billions, is_moe, "")


@pytest.mark.parametrize(
    ("dtypes", "name", "precision"),
    [
        (("Q4_K - Medium", "float32"), "", "4 bits"),
        (("Q8_0", "bfloat16"), "", "8 bits"),
        (("IQ2_XS - 2.3125 bpw", ""), "", "2 bits"),
        (("", ""), "Qwen3-8B-FP8", "8 bits"),
        (("bfloat16", ""), "Qwen2.5-7B-Instruct-GPTQ-Int4", "4 bits"),
        (("", ""), "Llama-3.1-8B-quantized.w8a8", "8 bits"),
        (("", ""), "unsloth/Qwen3-4B-bnb-4bit", "4 bits"),
        (("something new", ""), "", "4 bits"),
        (("", "bfloat16"), "", "bfloat16"),
        (("float32", "float32"), "", "float32"),
        (("float16", "float32"), "", "float16"),
        (("", "float32"), "", "bfloat16"),
    ],
)
def test_precision_is_the_coarser_one(dtypes: tuple[str, str], name: str, precision: str) -> None:
    assert class_of(name, *dtypes).precision == precision


def test_limits_follow_size_and_routing() -> None:
    small, large, moe = (class_of(name) for name in ("X-0.5B", "X-8B", "X-30B-A3B"))
    assert large.usual_k3 < moe.usual_k3 < small.usual_k3
    assert class_of("X").usual_k3 == small.usual_k3
