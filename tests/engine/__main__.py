"""Serves the tests' model with llama.cpp until it is ended: `python -m tests.engine --port 8000`.

Runs in the environment `engine`.  The key comes from LLAMA_API_KEY, as for `llama-server`; without one, none is needed.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
from pathlib import Path

import xllamacpp

from tests.engine.model import GGUF_TYPES, VOCABULARY, make_model

_SLOTS = 64
_CONTEXT_OF_A_SLOT = 1024
_ENDED = {signal.SIGTERM, signal.SIGINT}
# A connection of cpp-httplib keeps its thread while it is idle, up to 5 s; by default there are `slots + 2` threads.
_HTTP_THREADS = 96


def main() -> None:
    arguments = _arguments()
    if arguments.make:
        _made(arguments.make, arguments)
        return
    # Threads inherit it: none of the server's takes the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDED)
    # The server has read the model when it listens. A test may end it by SIGKILL, which would leave the folder behind.
    with tempfile.TemporaryDirectory(prefix="eagleray-engine-") as folder:
        model = arguments.model or _made(Path(folder), arguments)
        server = xllamacpp.Server(_parameters(arguments, model))
    print(f"listening on {server.listening_address}", flush=True)
    signal.sigwait(_ENDED)
    # The server's threads may be in requests.
    os._exit(0)


def _made(folder: Path, arguments: argparse.Namespace) -> Path:
    make_model(
        folder,
        arguments.noise,
        corpus=arguments.corpus,
        gguf_dtype=arguments.gguf_dtype,
        vocabulary=arguments.vocabulary,
    )
    return folder / "model.gguf"


def _parameters(arguments: argparse.Namespace, model: Path) -> xllamacpp.CommonParams:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.model_alias = {"eagleray-tests"}
    parameters.port = arguments.port
    parameters.hostnames = [arguments.host]
    parameters.n_parallel = arguments.slots
    parameters.n_ctx = arguments.slots * arguments.slot_context
    parameters.n_threads_http = max(_HTTP_THREADS, arguments.slots + 32)
    parameters.warmup = False
    parameters.endpoint_metrics = arguments.metrics
    # Threads that spin for work make it twenty times as slow on two cores.
    for cpu in (parameters.cpuparams, parameters.cpuparams_batch):
        cpu.n_threads = 1
        cpu.poll = 0
    if arguments.flash_attention == "off":
        parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        # Then its logprobs equal torch's, but for 1e-6; with its cache of 16 bits but for 4e-4.
        parameters.cache_type_k = xllamacpp.ggml_type.GGML_TYPE_F32
        parameters.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    if arguments.temperature is not None:
        parameters.sampling.temp = arguments.temperature
    if arguments.chat_template:
        parameters.chat_template = arguments.chat_template
    key = os.environ.get("LLAMA_API_KEY")
    if key:
        parameters.api_keys = [key]
    return parameters


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.engine")
    parser.add_argument("--port", type=int, default=0, help="0: a free one, which is printed")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument(
        "--slot-context", type=int, default=_CONTEXT_OF_A_SLOT, help="65536: 2 GB of memory"
    )
    parser.add_argument("--model", type=Path, help="a GGUF file in place of the tests' model")
    parser.add_argument("--flash-attention", choices=["auto", "off"], default="auto")
    parser.add_argument("--noise", type=float, default=0.0, help="0.01: weights off by 1 %%")
    parser.add_argument(
        "--gguf-dtype", choices=list(GGUF_TYPES), default="float32", help="of its matrices"
    )
    parser.add_argument(
        "--slots", type=int, default=_SLOTS, help="requests that it computes at once"
    )
    parser.add_argument("--metrics", action="store_true", help="serve them at /metrics")
    parser.add_argument("--temperature", type=float, help="of requests that have none")
    parser.add_argument("--chat-template", default="", help="in place of the model's own")
    parser.add_argument(
        "--corpus", type=Path, help="a text for the tokenizer, in place of the usual"
    )
    parser.add_argument(
        "--vocabulary", type=int, default=VOCABULARY, help="512: fewer tokens, with the same ids"
    )
    parser.add_argument("--make", type=Path, metavar="FOLDER", help="only write the model there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
