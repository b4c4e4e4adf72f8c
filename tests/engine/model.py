"""Makes the model of the tests' engine: a Llama of 0.5 M parameters, as a Hugging Face folder and as a GGUF file.

Runs in the environment `engine`, where numpy, tokenizers, safetensors and gguf are.  Its weights are random and much
larger than an untrained model's, so that its distributions are peaked as a trained model's are.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, LlamaFileType, TokenType
from gguf.quants import quantize
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

VOCABULARY = 768
HIDDEN = 128
FEED_FORWARD = 256
LAYERS = 2
HEADS = 4
KV_HEADS = 2
HEAD = HIDDEN // HEADS
CONTEXT = 4096
EPSILON = 1e-5
ROPE_BASE = 10_000.0
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# Without them the model ends nearly at once, or never.
_SCALE = 0.08
_HEAD_SCALE = 0.12

Weights = dict[str, NDArray[np.float32]]
# How a GGUF file stores matrices of each dtype, and what it says of itself.
GGUF_TYPES = {
    "float32": (GGMLQuantizationType.F32, LlamaFileType.ALL_F32),
    "float16": (GGMLQuantizationType.F16, LlamaFileType.MOSTLY_F16),
    "bfloat16": (GGMLQuantizationType.BF16, LlamaFileType.MOSTLY_BF16),
}


def make_model(
    folder: Path,
    noise: float = 0.0,
    seed: int = 7,
    corpus: Path | None = None,
    gguf_dtype: str = "float32",
    vocabulary: int = VOCABULARY,
) -> None:
    """Writes the model into `folder` (config.json, model.safetensors, tokenizer.json, model.gguf).

    The GGUF file has the weights in `gguf_dtype`, the other one always in float32.  `noise` is what a training step has changed since: a random part of each weight's size, 0.01 for one per cent.
    The tokenizer learns from `corpus`, or from a module of Python; a smaller `vocabulary` has the first of its tokens.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = _weights(seed, vocabulary)
    if noise:
        weights = _changed(weights, noise, seed + 1)
    tokenizer = _tokenizer(corpus or Path(argparse.__file__), vocabulary)
    _write_hugging_face(folder, weights, tokenizer)
    _write_gguf(folder / "model.gguf", weights, tokenizer, gguf_dtype)


def _weights(seed: int, vocabulary: int) -> Weights:
    random = np.random.default_rng(seed)

    def matrix(rows: int, columns: int, scale: float = _SCALE) -> NDArray[np.float32]:
        return (random.standard_normal((rows, columns)) * scale).astype(np.float32)

    weights: Weights = {"model.embed_tokens.weight": matrix(vocabulary, HIDDEN)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}"
        weights[f"{prefix}.self_attn.q_proj.weight"] = matrix(HEADS * HEAD, HIDDEN)
        weights[f"{prefix}.self_attn.k_proj.weight"] = matrix(KV_HEADS * HEAD, HIDDEN)
        weights[f"{prefix}.self_attn.v_proj.weight"] = matrix(KV_HEADS * HEAD, HIDDEN)
        weights[f"{prefix}.self_attn.o_proj.weight"] = matrix(HIDDEN, HEADS * HEAD)
        weights[f"{prefix}.mlp.gate_proj.weight"] = matrix(FEED_FORWARD, HIDDEN)
        weights[f"{prefix}.mlp.up_proj.weight"] = matrix(FEED_FORWARD, HIDDEN)
        weights[f"{prefix}.mlp.down_proj.weight"] = matrix(HIDDEN, FEED_FORWARD)
        weights[f"{prefix}.input_layernorm.weight"] = np.ones(HIDDEN, np.float32)
        weights[f"{prefix}.post_attention_layernorm.weight"] = np.ones(HIDDEN, np.float32)
    weights["model.norm.weight"] = np.ones(HIDDEN, np.float32)
    weights["lm_head.weight"] = matrix(vocabulary, HIDDEN, _HEAD_SCALE)
    return weights


def _changed(weights: Weights, noise: float, seed: int) -> Weights:
    random = np.random.default_rng(seed)
    return {
        name: (value * (1 + noise * random.standard_normal(value.shape))).astype(np.float32)
        for name, value in weights.items()
    }


def _tokenizer(corpus: Path, vocabulary: int) -> Tokenizer:
    """A byte-level BPE like GPT-2's, over ASCII alone, so that the text of each token is whole."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL),
        initial_alphabet=_ascii_alphabet(),
        limit_alphabet=len(_ascii_alphabet()),
        show_progress=False,
    )
    text = corpus.read_text(encoding="ascii", errors="ignore")
    tokenizer.train_from_iterator(text.splitlines(keepends=True), trainer)
    return tokenizer


def _ascii_alphabet() -> list[str]:
    """Returns what GPT-2's byte-level pre-tokenizer writes for printable ASCII, the space and the line feed."""
    return [*map(chr, range(33, 127)), "Ġ", "Ċ"]


def _write_hugging_face(folder: Path, weights: Weights, tokenizer: Tokenizer) -> None:
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    _write_json(
        folder / "config.json",
        {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": tokenizer.get_vocab_size(),
            "hidden_size": HIDDEN,
            "intermediate_size": FEED_FORWARD,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "num_key_value_heads": KV_HEADS,
            "head_dim": HEAD,
            "max_position_embeddings": CONTEXT,
            "rms_norm_eps": EPSILON,
            "rope_theta": ROPE_BASE,
            "hidden_act": "silu",
            "tie_word_embeddings": False,
            "bos_token_id": 0,
            "eos_token_id": 2,
            "torch_dtype": "float32",
        },
    )
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": SPECIAL[2],
            "bos_token": SPECIAL[0],
            "pad_token": SPECIAL[0],
            "clean_up_tokenization_spaces": False,
            "chat_template": TEMPLATE,
        },
    )


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1))


def _write_gguf(path: Path, weights: Weights, tokenizer: Tokenizer, dtype: str) -> None:
    """Weights of norms stay in float32, as llama.cpp's converter has them."""
    stored, file_type = GGUF_TYPES[dtype]
    writer = GGUFWriter(path, "llama")
    writer.add_name("eagleray-tests")
    writer.add_file_type(file_type)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_vocab_size(tokenizer.get_vocab_size())
    _add_tokenizer(writer, tokenizer)
    for name, value in weights.items():
        kind = stored if value.ndim > 1 else GGMLQuantizationType.F32
        data = quantize(np.ascontiguousarray(_gguf_order(name, value)), kind)
        writer.add_tensor(_gguf_name(name), data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: GGUFWriter, tokenizer: Tokenizer) -> None:
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [TokenType.CONTROL if token in SPECIAL else TokenType.NORMAL for token in tokens]
    )
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


_GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
_GGUF_OUTER_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def _gguf_name(name: str) -> str:
    outer = _GGUF_OUTER_NAMES.get(name)
    if outer:
        return outer
    layer, part = name.removeprefix("model.layers.").removesuffix(".weight").split(".", 1)
    return f"blk.{layer}.{_GGUF_NAMES[part]}.weight"


def _gguf_order(name: str, value: NDArray[np.float32]) -> NDArray[np.float32]:
    """llama.cpp rotates neighbouring pairs of a head, Hugging Face the halves: rows of q and k change places."""
    heads = {"q_proj": HEADS, "k_proj": KV_HEADS}.get(name.rsplit(".", 2)[-2], 0)
    if not heads:
        return value
    halves = value.reshape(heads, 2, HEAD // 2, HIDDEN)
    return halves.swapaxes(1, 2).reshape(value.shape)
