"""Parsers of what trainers dump: lines of trajectories, and files of them."""

from __future__ import annotations

import contextlib
import json

from eagleray.common.errors import UNREADABLE_JSON, EaglerayError
from eagleray.rollouts.agents.server_queue import queue_of
from eagleray.rollouts.chat_responses import token_columns
from eagleray.rollouts.comparing.engines.wave_prompts import promptless
from eagleray.rollouts.trajectories.dump import TrajectoryDump
from eagleray.rollouts.trajectories.formats import read_line
from eagleray.rollouts.trajectories.reading import DumpReading
from eagleray.rollouts.trajectories.rows import ItemLimits, item_of
from eagleray.rollouts.trajectories.search import matching_items
from eagleray.rollouts.trajectories.statistics import sum_up
from eagleray.rollouts.trajectories.table import DumpTable
from eagleray.wire.requests import Wire

from tests.fuzz.target import Target, of_json
from tests.fuzz.targets.scratch import written
from tests.rollouts.trajectories.dumps import areal, nemo, own, verl
from tests.rollouts.trajectories.published import PUBLISHED

LINES = [areal(1, 0), verl(1, 0), nemo(1), own("g", 0)]
DOCUMENTS = [json.loads(each.content) for each in PUBLISHED if each.file.endswith(".json")]


def line(text: str) -> None:
    """The shown part can be sent to the editor, or is an error of the catalogue."""
    read_line(text.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(EaglerayError):
        dumped((text + "\n").encode("utf-8", "surrogatepass"))


def dumped(raw: bytes) -> None:
    path = written("rollouts/a.jsonl", raw)
    dump = TrajectoryDump(path, 64)
    dump.refresh()
    dump.extend(DumpReading())
    table = DumpTable(dump)
    table.extend(DumpReading())
    shown = [item_of(line, table.endings(), ItemLimits(50, 3)) for line in dump.lines(0, 20)]
    values = Wire().plain([*shown, sum_up(dump, table)])
    json.dumps(values, allow_nan=False, ensure_ascii=False).encode()
    list(matching_items(dump, "it", 0, DumpReading(), 64))


def wave(text: str) -> None:
    """The columns of an answer have one length, and a batch takes the line of its run or leaves it out."""
    try:
        answer = json.loads(text)
    except UNREADABLE_JSON:
        return
    columns = token_columns([answer] * 2)
    assert len({len(columns[name]) for name in ("token_texts", "mask", "logprobs") if columns}) < 2
    record = {"completion_ids": [5], "logprobs": [-1.0], "requests": [answer]}
    promptless(json.dumps(record).encode(), 1.0)


ANSWER = {
    "choices": [
        {
            "message": {"role": "assistant", "content": "4"},
            "logprobs": {"content": [{"id": 5, "token": "4", "logprob": -1.0}]},
            "token_ids": [5],
            "meta_info": {"output_token_logprobs": [[-1.0, 5, "4"]]},
        }
    ],
    "prompt_token_ids": [1, 2],
    "usage": {"prompt_tokens": 2, "completion_tokens": 1},
}
METRICS = (
    '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0"} 8.0\n'
    'vllm:num_requests_waiting{engine="0",model_name="a\\"}"} 49.0\n',
    'sglang:num_running_reqs{tp_rank="0"} 16\nsglang:num_queue_reqs{tp_rank="0"} 3 1700000000\n',
)


def queue(text: str) -> None:
    """A queue has no negative length."""
    sample = queue_of(text)
    assert sample is None or (sample.running >= 0 and sample.waiting >= 0)


CHAT = {"url": "http://x/v1/chat/completions", "request": {"messages": []}, "response": ANSWER}
TARGETS = (
    of_json("wave-answers", wave, [ANSWER, CHAT]),
    Target("server-metrics", "text", queue, METRICS, (), ("{", "}", '"', " ", "NaN", "1e999")),
    of_json("trajectory-lines", line, [*LINES, *DOCUMENTS]),
    Target(
        "trajectory-dumps",
        "bytes",
        dumped,
        [
            "".join(json.dumps(record) + "\n" for record in LINES).encode(),
            b'\xef\xbb\xbf{"a": 1}\n\n{',
            *(each.content for each in PUBLISHED),
        ],
        (EaglerayError,),
        ("\n", "{", "}", '"', "\r\n"),
    ),
)
