"""The advice that the message of an exception has itself: "Try increasing …", "please install …", "set X to Y"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.common.redact import redact_text
from eagleray.doctor.model import Cause, LogEvidence
from eagleray.doctor.unknown_errors import TRACEBACK, is_error, is_frame, unlogged
from eagleray.remote.sampling.frames import PythonFrame

_VERBS = (
    r"(?:set|use|try|install|pass|specify|provide|add|remove|enable|disable|increase|decrease|reduce|lower|raise|upgrade|update"
    r"|downgrade|choose|change|adjust|check|ensure|make sure|consider|run|rebuild|reinstall|call|define|configure|switch to)"
)
# An imperative at the start of a sentence or clause, or a request.
_ADVICE = re.compile(
    rf"(?i)(?:^|[,;:(] ?|\bor )(?:please,? |either |you (?:can|may|should|must|need to) )?{_VERBS} (?!to |failed|error|is |was |must )"
    rf"|\b(?:please|you (?:can|may|should|must|need to)) {_VERBS} |\b(?:consider|try) (?:\w{{3,12}}ing|to) "
    r"|\bdid you mean\b|\bmust be set\b"
)
# How to see more of an error, which doesn't fix it.
_NO_FIX = re.compile(r"HYDRA_FULL_ERROR|CUDA_LAUNCH_BLOCKING|TORCH_USE_CUDA_DSA|full stack ?trace")
_SENTENCES = re.compile(r"(?<=[.!?]) +(?=[A-Z`'\"(-])|\n(?=[A-Z])")
_TIMED = re.compile(r"^\W{0,3}(?:INFO|WARN|DEBUG|20\d\d-|\d\d:\d\d)")
# pip's and uv's environments for builds.
_BUILD = re.compile(r"/pip-build-env-|/builds-v\d{1,3}/|/setuptools/build_meta\.py$")
_LONGEST_OUTPUT = 40
_LOADS = re.compile(r"(?:^|_)load_(?:\w+_)?(?:weight|state_dict|checkpoint|model)")
# Lines of a message after its first one.
_MOST_LINES = 5
_MOST_SENTENCES = 2
_LONGEST = 300


def fix_by_place(causes: Sequence[Cause], frames: Sequence[PythonFrame]) -> str:
    """The fix of the first cause if it means something else where it was raised than in the rule's own words, else "".

    1. A module that is missing while a package is built, in an environment with nothing but what its build declares.
    2. Shapes that differ while weights are loaded.
    """
    rule = causes[0].id if causes else ""
    is_in_build = any(_BUILD.search(frame.file) for frame in frames) or any(
        _is_head_of_build(line, causes[0].evidence[0])
        for cause in causes[1:]
        for line in cause.evidence
    )
    if rule == "module-missing" and is_in_build:
        return t(
            "The build has its own environment. Install it first, then use --no-build-isolation."
        )
    if rule == "tensor-shapes" and any(_LOADS.search(frame.function) for frame in frames[-5:]):
        return t(
            "A weight doesn't fit the model: check its config, and the versions of what loads it."
        )
    return ""


def _is_head_of_build(line: LogEvidence, error: LogEvidence) -> bool:
    """Whether uv has written a line before the output of a build, of which Ray's logs lack the frames."""
    is_near = line.path == error.path and 0 < error.line - line.line < _LONGEST_OUTPUT
    return is_near and "× Failed to " in line.text


def message_at(lines: Sequence[str], index: int) -> list[str]:
    """The lines of an exception's message, the first of which is the line `index`; another record of the log ends it."""
    message = [unlogged(lines[index]).strip()]
    for text in map(unlogged, lines[index + 1 : index + _MOST_LINES]):
        if not text.strip() or TRACEBACK in text or is_error(text) or _TIMED.match(text):
            break
        if is_frame(text) and not text.startswith(" "):
            break
        message.append(text.strip())
    return message


def advice_in(message: Sequence[str]) -> str:
    """The first sentences of a message that say what to do, quoted, without secrets; "" without any."""
    first, _, rest = message[0].partition(": ")
    texts = [rest or first, *message[1:]]
    # A sentence may have several lines.
    sentences = _SENTENCES.split(redact_text("\n".join(texts)))
    own = [
        " ".join(text.split())
        for text in sentences
        if _ADVICE.search(text) and not _NO_FIX.search(text)
    ]
    if not own:
        return ""
    return t(
        'The message says: "{text}"', text=printable(" ".join(own[:_MOST_SENTENCES]), _LONGEST)
    )
