"""Parsers of what nodes say when their stacks are sampled: the wire of samples, lines of job steps, py-spy, saved pictures."""

from __future__ import annotations

import base64
import hashlib
import json
import tempfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

from eagleray.common.errors import EaglerayError, printable
from eagleray.observe.hangs import picture_files
from eagleray.observe.hangs.collecting.completed_picture import answers_in, completed
from eagleray.observe.hangs.collecting.node_streams import NodeAnswers, SamplingOrder
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import evidence
from eagleray.observe.hangs.inside_questions import Question, place_of, with_readings
from eagleray.observe.hangs.pasted.given_files import GivenFiles
from eagleray.observe.hangs.pasted.pasted import picture_of
from eagleray.observe.hangs.picture import picture
from eagleray.observe.hangs.ras_evidence import evidence_of_answers
from eagleray.observe.hangs.ras_notes import note_of
from eagleray.observe.hangs.texts import lines, markdown
from eagleray.remote.inspecting.process_answers import reading_of
from eagleray.remote.sampling import pyspy_dumps, ras, sample_codec, stack_by_signal
from eagleray.remote.sampling.rank_sets import RankSet

from tests.fakes.fake_ras import communicator, missing, rank, status
from tests.fuzz.target import Target
from tests.remote.sampling.test_ras import TEXT_2_26, TEXT_INCOMPLETE

GIVEN = Path(__file__).parents[2] / "observe" / "hangs" / "given"
RECORDED = Path(__file__).parents[2] / "observe" / "hangs" / "recorded"
SAMPLES = [json.loads((RECORDED / f"{name}.json").read_text()) for name in ("mismatch", "killed")]
ORDER = SamplingOrder(rounds=3, pause_s=0.0, mark="0123456789abcdef")
DUMP = [
    {
        "pid": 1,
        "thread_name": None,
        "os_thread_id": 1,
        "active": True,
        "owns_gil": False,
        "frames": [
            {
                "name": "recv",
                "filename": "/x/torch/distributed/distributed_c10d.py",
                "line": 7,
                "locals": [
                    {"name": "src", "repr": "3"},
                    {"name": "e", "repr": "<ValueError at 0x1>"},
                ],
            }
        ],
    }
]

RAS_NOTE = {
    "version": "2.30.7",
    "reasons": ["timeout"],
    "communicators": 2,
    "ranks": 8,
    "state": "behind",
    "notable": [
        {
            "name": "5ca1ab1e",
            "size": 8,
            "call": "AllGather",
            "joined": "0-3",
            "behind": "5",
            "absent": "6-7",
            "dead": "7",
            "places": ["5: 812@10.0.0.7"],
        }
    ],
}
# As faulthandler has written it (Python 3.11).
WRITTEN = """Stack (most recent call first):
  File "/x/torch/distributed/distributed_c10d.py", line 7 in recv
  File "/w/gr\\xf6\\xdfe.py", line ??? in <module>
"""

ANSWERS = [
    answer
    for name in ("cleanup", "generations", "wrong_group")
    for answer in json.loads((RECORDED / "inside" / f"{name}.json").read_text()).values()
]


def inside_answer(value: Any) -> None:
    """Whatever a process says of itself beside a partner that answers makes a picture, whose texts can be printed."""
    for rows in (value, [value], [[1, value]]):
        place = ("node-1", 1)
        query = Question((place,), native=(place,))
        further = answers_in(query, {"inside": rows, "native": rows})
        assert set(further.readings) == set(further.natives) == {place}
    assert answers_in(query, value).natives[place].reason
    found = evidence(sample_codec.load(SAMPLES[0]), 1.0, is_whole=True)
    readings = [reading_of(value), *map(reading_of, ANSWERS[:3])]
    places = map(place_of, found.processes)
    read = with_readings(found, dict(zip(places, readings, strict=False)))
    taken = picture(read, diagnosis(read), 1.0)
    json.dumps(picture_files.as_json(taken))
    text = "".join(map(printable, lines(taken))) + markdown(taken)
    assert not set(text) & set("\x1b\x07\x9b")


def samples(value: Any) -> None:
    """Whatever is read makes a picture, whose texts can be printed."""
    nodes = sample_codec.load(value)
    found = evidence(nodes, 1.0, is_whole=True)
    taken = picture(found, diagnosis(found), 1.0)
    json.dumps(picture_files.as_json(taken))
    text = "".join(map(printable, lines(taken))) + markdown(taken)
    assert not set(text) & set("\x1b\x07\x9b")
    # The only block is the tree's, which is empty without stacks.
    block = [line for line in markdown(taken).splitlines() if line.startswith("```")]
    assert block in ([], ["```text", "```"])


def step_lines(content: bytes) -> None:
    """A node is answered for once, whatever else it sends."""
    answers = NodeAnswers(ORDER, ["node-1"], lambda *_: None, lambda: 0.0)
    for line in content.split(b"\n"):
        answers.feed(line)
    assert len(answers.samples()) + len(answers.silent()) == 1
    assert all(node.host == "node-1" for node in answers.samples())


def lines_of_node(value: Any) -> bytes:
    content = zlib.compress(json.dumps(value).encode())
    parts = [("begun", ""), ("round", "1"), ("part", base64.b64encode(content).decode())]
    parts.append(("end", hashlib.sha256(content).hexdigest()))
    return "\n".join(f"{ORDER.mark} node-1 {kind} {text}" for kind, text in parts).encode()


def py_spy(value: Any) -> None:
    for thread in pyspy_dumps.parse(1, value):
        json.dumps(str(thread))


def written_stack(text: str) -> None:
    for frame in stack_by_signal.parse(text):
        assert frame.line >= 0


def saved_picture(content: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        taken = picture_files.load(Path(file.name))
    json.dumps(picture_files.as_json(taken))


def given_stacks(content: bytes) -> None:
    """Whatever is found makes a picture, whose texts can be printed."""
    taken = picture_of(GivenFiles(["-"], BytesIO(content)))
    json.dumps(picture_files.as_json(taken))
    text = "".join(map(printable, lines(taken))) + markdown(taken)
    assert not set(text) & set("\x1b\x07\x9b")


def ras_status(content: bytes) -> None:
    """Whatever answers as NCCL's RAS makes a picture, whose texts can be printed."""
    answer = ras.parse(content)
    taken = completed(evidence_of_answers([[answer], [answer]], "node-1", pause_s=1.0))
    json.dumps(picture_files.as_json(taken))
    text = "".join(map(printable, lines(taken))) + markdown(taken)
    assert not set(text) & set("\x1b\x07\x9b")


def ras_note(value: Any) -> None:
    note_of("node-1", json.dumps(value))


def ranks(text: str) -> None:
    assert str(RankSet.parse(str(RankSet.parse(text)))) == str(RankSet.parse(text))


def picture_file() -> bytes:
    found = evidence(sample_codec.load(SAMPLES[0]), 1.0, is_whole=True)
    return json.dumps(picture_files.as_json(picture(found, diagnosis(found), 1.0))).encode()


TARGETS = (
    Target("stack-samples", "value", samples, SAMPLES, (ValueError,)),
    Target(
        "node-lines",
        "bytes",
        step_lines,
        [lines_of_node(sample_codec.dump([])), f"{ORDER.mark} node-1 failed OSError: x".encode()],
        (),
        (ORDER.mark, "node-1", "part", "end", "failed", "round"),
    ),
    Target(
        "py-spy-dump", "value", py_spy, [DUMP], (KeyError, TypeError, AttributeError, ValueError)
    ),
    Target(
        "written-stacks", "text", written_stack, [WRITTEN], (), ('"', "File", "line", "in", "???")
    ),
    Target("inside-answers", "value", inside_answer, ANSWERS, ()),
    Target("saved-pictures", "bytes", saved_picture, [picture_file()], (EaglerayError,)),
    Target(
        "given-stacks",
        "bytes",
        given_stacks,
        [path.read_bytes() for path in sorted(GIVEN.iterdir())],
        (EaglerayError,),
        (
            "Process 1: ",
            "Thread 1 (idle): ",
            '"MainThread"',
            "[rank1]: ",
            "    f (a.py:1)\n",
            "0: ",
        ),
    ),
    Target(
        "ras-status",
        "bytes",
        ras_status,
        [
            TEXT_2_26.encode(),
            TEXT_INCOMPLETE.format(line="The missing rank: 5").encode(),
            status(communicator([rank(0, AllReduce=3), rank(1)], [missing(2)])).encode(),
        ],
        (ValueError, RecursionError),
        ("ranks have launched up to operation ", "Rank 1 ", "#0-0 (1) MISMATCH", '"size": 3'),
    ),
    Target("ras-note", "value", ras_note, [RAS_NOTE], ()),
    Target("ranks", "text", ranks, ["0-1,3", "", "7"], (ValueError,), ("-", ",", "0", "999999999")),
)
