"""The advice that the message of an exception has itself: "Try increasing …", "please install …", "set X to Y"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.common.redact import redact_text
from eagleray.doctor.model import Cause, LogEvidence
from eagleray.doctor.unknown_errors import TRACEBACK, is_error, is_frame, unlogged
from eagleray.remote.sampling.frames import PythonFrame, is_users

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
_NO_FIX = re.compile(
    r"HYDRA_FULL_ERROR|NCCL_DEBUG|CUDA_LAUNCH_BLOCKING|TORCH_USE_CUDA_DSA|full stack ?trace"
)
_SENTENCES = re.compile(r"(?<=[.!?]) +(?=[A-Z`'\"(-])|\n(?=[A-Z])")
_TIMED = re.compile(r"^\W{0,3}(?:INFO|WARN|DEBUG|20\d\d-|\d\d:\d\d)")
_PIPE = "/multiprocessing/connection.py"
# pip's and uv's environments for builds.
_BUILD = re.compile(r"/pip-build-env-|/builds-v\d{1,3}/|/setuptools/build_meta\.py$")
_ASSERTED = re.compile(
    r"\bassert .{0,200}\b(?:self|\w{0,20}args|\w{0,20}config|cfg)(?:\.\w{1,40}){0,3}"
    r"\.(?P<name>(?:max|min|num)_\w{1,60}|\w{1,60}_(?:size|len|length|limit|count))\b"
)
_UNSUPPORTED = re.compile(
    r"(?i)\bunsupported\b(?! operand)|\bnot (?:yet )?(?:supported|implemented|compatible)\b|\bnot valid for this\b|\bincompatible with\b"
    r"|\b(?:does not|doesn't|cannot|can't) support\b"
)
_UNANSWERED = re.compile(
    r"(?i)\bfail(?:ed|s)?\b|\brefused\b|\btime[d-]? ?out\b|\bretries\b|\bunavailable\b|\breset\b|\bdisconnected\b"
    r"|\bserver error\b|\b50[0-9]\b"
)
_SERVER = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}:\d{2,5}\b|(?<=://)[\w.-]{1,80}:\d{2,5}\b")
_INSTALLED = re.compile(r"/(?:site|dist)-packages/(\w{2,60})/")
# Checkouts, such as /opt/nemo-rl/nemo_rl, sglang/python/sglang, Megatron-LM/megatron.
_CHECKOUT = re.compile(r"/([\w-]{2,60})(?:/python|/src)?(?=/(\w{2,60})/)")
# They call the code of any library.
_CALLERS = frozenset({"torch", "ray", "accelerate", "transformers", "lightning"})
_MISSING_ARGUMENT = re.compile(
    r"(?P<function>[\w.]{1,80})\(\) missing \d{1,2} required (?:positional|keyword-only) arguments?: '(?P<name>\w{1,60})'$"
)
_BUG = re.compile(r"\bdiscovered a bug in (\w{2,40})\b")
_ACCIDENT = re.compile(
    r"(?:\w{1,60}\.){0,8}(?:TypeError: (?!\S{1,80}\(\) (?:missing|takes|got) )|(?:Attribute|Name|UnboundLocal)Error\b)"
)
# Also of C++; a message that says what a setting has to be needs no more.
_ASSERTION = re.compile(
    r"(?i)AssertionError\b(?!.*\b(?:must|should|expect(?:ed|s)?|requires?|divisible|need(?:s|ed)?|permitted|allowed)\b)"
    r"|.{0,300}\.(?:cu|cuh|cc|cpp|h):\d{1,6}\b.{0,200}\bassert"
)
_CONDITION = re.compile(
    r"\(assert (?P<condition>(?:not )?[a-z_]\w{0,40}(?:\.\w{1,60}){1,3}\(\))\)$"
)
# A value that is compared with a number comes from settings.
_COMPARED = re.compile(
    r"\(assert (?P<condition>[a-z_][\w.]{1,80} (?:[<>]=?|[!=]=) -?\d[\d.]{0,12})\)$"
)
_WAITED = re.compile(
    r"(?i)\btim(?:ed|e) ?out (?:while )?waiting for (?P<target>[a-z][\w ]{2,60}?)(?= to | at | on |[.,;:]|$)"
)
_SCARCE = re.compile(
    r"(?i)\b(?:insufficient|not (?:have )?(?:enough|sufficient)) (?:\w{1,20} )?(?:resources|gpus|cpus)\b"
)
_KEY = re.compile(r"KeyError: ['\"](?P<key>[\w.]{1,80})['\"]")
_ROW = re.compile(
    r"\b(?:\w{0,20}(?:row|item|sample|example|record)|non_tensor_batch)\[['\"](?P<key>[\w.]{1,80})['\"]\]"
)
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


def advice_for(message: Sequence[str], text: str, frames: Sequence[PythonFrame]) -> str:
    """The next step after an exception that no rule explains, "" if nothing tells it; `text` may have its code.

    1. The advice of its message.
    2. The setting that an assertion compares.
    3. The argument that a call in the user's code, or the column of a data set that a reward function lacks.
    4. For a combination that isn't supported: the setting that the message names.
    5. The log of the server that didn't do what the program asked for.
    6. The resources, process or entry that the program lacks.
    7. The condition that a call needs.
    8. For an accident or a check in the code of a library: another version, also of the one that calls it.
    """
    if own := advice_in(message):
        return own
    first = message[0]
    if asserted := _ASSERTED.search(text):
        return t("The assertion is about {name}: check this setting.", name=asserted["name"])
    missing = _MISSING_ARGUMENT.search(first)
    if missing and any("reward" in frame.function for frame in frames):
        return t(
            "Give the data set a column {name}, or the parameter a default.",
            **missing.groupdict(),
        )
    if missing and frames and is_users(frames[-1]):
        return t("Pass {name} to {function}().", **missing.groupdict())
    if "implemented" in first and _UNSUPPORTED.search(first):
        return t("This isn't implemented: choose another option or a newer version.")
    if _UNSUPPORTED.search(first):
        return t("This combination isn't supported: change the setting that the message names.")
    server = _SERVER.search(first) if _UNANSWERED.search(first) else None
    if server:
        return t("Read the log of the server at {address}.", address=printable(server[0], 100))
    place = frames[-1] if frames else None
    if _SCARCE.search(first):
        return t("Compare it with `ray status`: wait for nodes, or request less.")
    if waited := _WAITED.search(first):
        return t("Check that {target} runs, and that this node reaches it.", **waited.groupdict())
    if place and first.startswith("EOFError") and place.file.endswith(_PIPE):
        return t("The process behind this pipe has ended: find its error, or a kill in dmesg.")
    key = _KEY.match(first)
    if key and place and _LOADS.search(place.function):
        return t(
            "The checkpoint lacks {key}: load it without, or save it with it.", **key.groupdict()
        )
    if key and key["key"] in (row["key"] for row in _ROW.finditer(text)):
        return t("The rows of the data set need a column {key}.", **key.groupdict())
    condition = _CONDITION.search(text)
    if condition and place:
        return t(
            "Call {function}() only while this is true: {condition}.",
            function=place.function,
            **condition.groupdict(),
        )
    if compared := _COMPARED.search(text):
        return t(
            "{condition} isn't true: check the settings it is computed from.",
            **compared.groupdict(),
        )
    return _other_version(first, text, frames)


def _other_version(first: str, text: str, frames: Sequence[PythonFrame]) -> str:
    """The advice to change the version of the library that has failed, or that fits the one that has called it."""
    if bug := _BUG.search(text):
        return _version_of(bug[1])
    packages = [_package_of(frame.file) for frame in frames]
    library = next(reversed(packages), "")
    is_assertion = bool(_ASSERTION.match(first))
    if not library or not (is_assertion or _ACCIDENT.match(first)):
        return ""
    others = (name for name in reversed(packages) if name and name not in {library, *_CALLERS})
    if caller := next(others, ""):
        return t(
            "Check that the versions of {caller} and {library} fit.", caller=caller, library=library
        )
    return "" if is_assertion else _version_of(library)


def _version_of(library: str) -> str:
    return t("Check that the version of {library} fits, or search its issues.", library=library)


def _package_of(file: str) -> str:
    """The package of a file, installed or in a checkout with its name; "" for a script."""
    if installed := _INSTALLED.search(file):
        return installed[1]
    for checkout in _CHECKOUT.finditer(file):
        folder, name = (part.lower().replace("-", "_") for part in checkout.groups())
        if folder.startswith(name):
            return checkout[2]
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


def nccl_error_in(message: Sequence[str]) -> str:
    """The text that NCCL adds to an exception of torch, quoted; "" without it (torch 2.13, `NCCLUtils.cpp`)."""
    at = next((at for at, text in enumerate(message) if text == "Last error:"), len(message))
    own = "".join(message[at + 1 : at + 2])
    return t('NCCL says: "{text}"', text=printable(redact_text(own), _LONGEST)) if own else ""


def advice_in(message: Sequence[str]) -> str:
    """The first sentences of a message that say what to do, quoted, without secrets; "" without any."""
    if not message:
        return ""
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
