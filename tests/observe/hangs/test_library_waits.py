"""Waits of processes are named where no kind of hang explains them."""

from __future__ import annotations

import io

import pytest
from eagleray.observe.hangs.pasted.given_files import GivenFiles
from eagleray.observe.hangs.pasted.pasted import picture_of

HEAD = 'Process 900: t.py\n\nThread 900 (idle): "MainThread"\n'


def sentence(*frames: str, more: str = "") -> str:
    """The wait of a process with these frames, inside out, that `step` has called."""
    lines = "".join(f"    {frame}\n" for frame in (*frames, "step (t.py:4)", "<module> (t.py:9)"))
    text = f"{HEAD}{lines}{more}"
    return picture_of(GivenFiles(["-"], io.BytesIO(text.encode()))).verdict.sentence


@pytest.mark.parametrize(
    ("frames", "what"),
    [
        (["wait (threading.py:3)", "get (queue.py:1)"], "an item of a queue"),
        (["wait (threading.py:3)", "Queue.put (queue.py:1)"], "room in a queue"),
        (
            ["_wait_for_tstate_lock (threading.py:3)", "join (threading.py:1)"],
            "the end of a thread",
        ),
        (["wait (threading.py:3)", "Barrier.wait (threading.py:1)"], "others at a barrier"),
        (["wait (threading.py:3)", "result (concurrent/futures/_base.py:1)"], "a future"),
        (["wait (threading.py:3)", "map (multiprocessing/pool.py:1)"], "the processes of a pool"),
        (["poll (multiprocessing/popen_fork.py:3)"], "the end of a child process"),
        (["_try_wait (subprocess.py:3)", "wait (subprocess.py:1)"], "the end of a child process"),
        (["_recv (multiprocessing/connection.py:3)"], "a message of another process"),
        (
            ["readinto (socket.py:3)", "getresponse (http/client.py:1)"],
            "an answer over the network",
        ),
        (
            ["_sleep_backoff (urllib3/util/retry.py:3)", "urlopen (urllib3/connectionpool.py:1)"],
            "its next attempt",
        ),
        (["sleep (/v/site-packages/tenacity/nap.py:3)"], "its next attempt"),
        (["poll (zmq/sugar/poll.py:3)", "recv (zmq/sugar/socket.py:1)"], "a message of ZeroMQ"),
        (["wait (torch/utils/file_baton.py:3)"], "a lock file"),
        (["synchronize (torch/cuda/__init__.py:3)"], "the GPU"),
    ],
)
def test_what_the_users_code_has_called_says_what_is_waited_for(
    frames: list[str], what: str
) -> None:
    assert sentence(*frames) == f"Process 900 waits for {what} in step (t.py:4)."


def test_engine_without_requests_waits_for_one() -> None:
    queue = "get (queue.py:1)", "_process_input_queue (vllm/v1/engine/core.py:7)"
    text = "These stacks show no hang: Process 900 waits for work."
    assert sentence("wait (threading.py:3)", *queue) == text
    handles = (
        "acquire (registry.py:7)",
        "_handle_client_request (vllm/v1/engine/core.py:9)",
        queue[1],
    )
    assert "a request" not in sentence(*handles)


def test_threads_that_could_end_the_wait_are_named() -> None:
    more = 'Thread 901 (idle): "pump"\n    acquire (registry.py:7)\n    lookup (registry.py:3)\n'
    assert sentence("get (queue.py:1)", more=more) == (
        "Process 900 waits for an item of a queue in step (t.py:4). "
        "Other threads are in acquire (registry.py:7)."
    )


def test_function_of_a_method_of_the_same_name_is_not_a_wait() -> None:
    for frame in ("get (my_queue.py:1)", "post (/w/requests/rollouts.py:3)"):
        assert "fits no known kind of hang" in sentence(frame)


def test_processes_that_do_different_things_have_a_sentence_each() -> None:
    more = '\nProcess 901: t.py\n\nThread 901 (active): "MainThread"\n    work (w.py:3)\n'
    assert sentence("get (queue.py:1)", more=more) == (
        "Process 900 waits for an item of a queue in step (t.py:4). Process 901 is in work (w.py:3):"
        " whether it moves can't be seen in one dump."
    )
