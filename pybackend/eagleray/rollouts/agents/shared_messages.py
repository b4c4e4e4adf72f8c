"""Finds the answer to one run in the messages that another run sends: runs then share a list of messages.

The proof needs no samples: the text is equal, its run is the only one that got it, and it was sent after it came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from attrs import frozen

from eagleray.common.l10n import counted
from eagleray.rollouts.agents.model import Observed, SharedMessage, WaveVerdict
from eagleray.rollouts.chat_responses import answer_text

# Shorter answers, such as a number or "I don't know.", are equal by chance.
_LEAST_CHARACTERS = 32


@frozen
class _Sent:
    """The answers among the messages of a request; `time` is when it was sent."""

    time: float
    answers: frozenset[bytes]


class MessageOwners:
    """Takes the events of runs, of which it keeps digests: the first and the last request of each, and all answers.

    The last request has the whole history, and the first one the examples of a prompt.
    """

    def __init__(self) -> None:
        # For each answer the runs that got it, and when.
        self._answers: dict[bytes, dict[int, float]] = {}
        self._sent: dict[int, list[_Sent]] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        run, requests = int(event["index"]), event["requests"]
        for request in requests:
            text = answer_text(str(request["response"])).strip()
            if len(text) >= _LEAST_CHARACTERS:
                came = float(request["started"]) + float(request["seconds"] or 0)
                self._answers.setdefault(_digest(text), {}).setdefault(run, came)
        self._sent[run] = [
            _Sent(float(request["started"]), frozenset(_sent_answers(str(request["request"]))))
            for request in (*requests[:1], *requests[1:][-1:])
        ]

    def shared(self) -> tuple[SharedMessage, ...]:
        """For each run that sent an answer to another one, its first such answer."""
        shared = (self._shared_by(run) for run in sorted(self._sent))
        return tuple(each for each in shared if each is not None)

    def _shared_by(self, run: int) -> SharedMessage | None:
        for sent in self._sent[run]:
            for answer in sorted(sent.answers):
                owners = self._answers.get(answer, {})
                if owners and run not in owners and not self._is_older(answer, owners):
                    return SharedMessage(run, min(owners, key=owners.__getitem__))
        return None

    def _is_older(self, answer: bytes, owners: Mapping[int, float]) -> bool:
        """Whether a run sent the text before the server answered it, as an example in the prompt of all."""
        came = min(owners.values())
        requests = (sent for each in self._sent.values() for sent in each)
        return any(sent.time < came and answer in sent.answers for sent in requests)


def shared_messages(observed: Observed) -> Iterable[WaveVerdict]:
    if observed.shared:
        first = observed.shared[0]
        sentence = counted(
            len(observed.shared),
            "Runs share messages: run {run} sent the answer to run {other}.",
            "Runs share messages: run {run} sent the answer to run {other} ({n} runs in all).",
            run=first.run,
            other=first.answered,
        )
        yield WaveVerdict("shared-messages", sentence)


def _sent_answers(body: str) -> Iterator[bytes]:
    """Digests of the texts of assistants; a body that was cut has none."""
    try:
        messages = json.loads(body)["messages"]
        texts = [each["content"] for each in messages if each["role"] == "assistant"]
    except (LookupError, RecursionError, TypeError, ValueError):
        return
    for text in texts:
        if isinstance(text, str) and len(text.strip()) >= _LEAST_CHARACTERS:
            yield _digest(text.strip())


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
