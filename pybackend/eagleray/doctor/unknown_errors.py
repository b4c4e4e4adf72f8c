"""Recognises lines that report an error which no rule explains: levels of loggers, tracebacks, signals."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.remote.sampling.frames import PythonFrame, is_users

TRACEBACK = "Traceback (most recent call last)"
# Each such line has one of these words, or one of FORMS; Chinese frameworks log "错误" (error) and "失败" (failed).
MARKERS = (
    TRACEBACK,
    "ERROR",
    "CRITICAL",
    "FATAL",
    "Fatal Python error",
    "Segmentation fault",
    "Bus error",
    "core dumped",
    "Check failed: ",
    "Error: ",
    "Exception: ",
    ": error: ",
    ": line ",
    "terminate called ",
    "LLVM ERROR: ",
    "<jemalloc>: ",
    " panicked at ",
    "' failed",
    "free(): ",
    "malloc(): ",
    "munmap_chunk(): ",
    "double free or corruption",
    "corrupted size vs. prev_size",
    "corrupted double-linked list",
    "smashing detected ***",
    "overflow detected ***",
    "An error occurred in MPI_",
    "Fatal error in ",
    "错误",
    "失败",
    "异常",
    "出错",
    "报错",
    "崩溃",
    "致命",
    "超时",
    "无法",
)
# Signs without a fixed text, as `grep -E` and Python read it alike.
FORMS = (
    # torch: "[E1121 01:25:07.123456789 ProcessGroupNCCL.cpp:616] ", and until 2.2 "[E ProcessGroupNCCL.cpp:464] ".
    r"\[[EF]([0-9]{3,4} [0-9][0-9]:| [A-Z][A-Za-z]*\.c)",
    # glog and absl: "F0803 17:57:59.534689 31315 31315 accessor.cc:488] ".
    r"(^|[^A-Za-z0-9])[EF][0-9]{4} [0-9][0-9]:[0-9][0-9]:[0-9]",
    # XLA and TensorFlow: "2026-09-06 02:08:27.123456: E external/xla/xla/service/gpu/gpu_compiler.cc:77] ".
    r"[0-9]: [EF] [A-Za-z_]",
    # Ray: "[2026-05-29 22:51:15,987 C 4837 4890] (gcs_server) ray_syncer.cc:248: ".
    r"[0-9] C [0-9]+ [0-9]+\] ",
    r"(^|\) )error: [A-Za-z]",
    # Loggers of services: `level=error`, `"level": "error"`, "[error    ]".
    r"level\"?[=:] ?\"?(error|critical|fatal)",
    r"\[(error|critical|fatal) *\]",
)
# The text of loggers before the level: brackets, a time, the place or name of the logger.  "Error rate: 0.1" has none.
_LEVEL = re.compile(
    r"^(?:\[[^\]]{0,80}\]\s{0,4}|\([^)]{0,80}\)\s{0,4}|[\d:.,/TZ+|-]{2,40}\s{1,4}|[\w./-]{1,60}:\d{1,6}\s{1,4}"
    r"|[\w.]{1,60} [-|] |[^\w\s]{1,2}\s{0,4}){0,6}(?:ERROR|CRITICAL|FATAL)\b"
)
# Programs in Go, such as collectors of metrics beside a training, log so.
_LOGFMT = re.compile(r"\blevel=(?:error|critical|fatal) .{0,200}\bmsg=")
_SERVICE_LEVEL = re.compile(
    rf"\"level(?:name)?\": ?\"(?:ERROR|CRITICAL|FATAL|error|critical|fatal)\"|{_LOGFMT.pattern}"
    r"|^(?:[\d:TZ.,/+-]{4,40} ){1,2}\[(?:error|critical|fatal) *\] "
)
# A native library's logger: the level E or F, a time, the thread, and the place in the code.
_NATIVE = re.compile(
    r"^(?:\[[a-z_]{1,40}\d{1,6}\]:\s?){0,2}(?:20\d\d-\d\d-\d\d [\d:.]{8,18}: )?\[?(?P<level>[EF])(?:\d{3,4} [\d:.]{8,25}\s{1,8}(?:\d{1,10}\s{1,8}){0,3}| )"
    r"[\w./-]{1,120}:\d{1,6}\] "
)
# TensorFlow and JAX log these at each start (tensorflow#62075) and without a GPU, gRPC while it ends (ray#26966).  PyTorch's
# report of ranks that are out of step begins with a line without a text (torch 2.13, `TraceUtils.h`).
_NATIVE_NOISE = re.compile(
    r"Unable to register cu\w{2,8} factory|computation placer already registered|failed call to cuInit|keepalive_ping_end state"
    r"|\] (?:\[PG [^\]]{1,80}\] |Rank \d{1,9})?\s*$"
)
# "srun: error: ", "train.py: error: ", "kernel.cu(12): error: "; "val: error: 0.3" is a number.
# collect2 ends after ld has written the reason, as in each search of DeepSpeed for libaio; of Python files, only linters write so.
_TOOL = re.compile(
    r"^(?!collect2: |\S{1,200}\.pyi?:\d)(?:\S{1,200}: ){0,2}(?:fatal )?error: (?![\d.+-]|nan\b|inf\b|[Nn]one\b|null\b|ok\b)\S"
)
_SHELL = re.compile(
    r"^\S{1,200}: line \d{1,6}: .{0,300}(?:No such file or directory|Permission denied|unbound variable"
    r"|syntax error|cannot execute|Not a directory|Argument list too long)"
)
# Exit messages of a process that can't continue.
_CRASH = re.compile(
    r"^(?:Fatal Python error: |terminate called |LLVM ERROR: |<jemalloc>: (?!Invalid conf)|thread '.{0,100} panicked at "
    r"|\*\*\* Error in `|\*\*\* (?:stack smashing|buffer overflow) detected \*\*\*|double free or corruption"
    r"|corrupted (?:size vs\. prev_size|double-linked list)|(?:\w{0,20}free|\w{0,20}alloc|munmap_chunk)\(\): "
    r"|.{0,80}Segmentation fault|.{0,80}Bus error|.{0,80}core dumped|.{0,400}Check failed: |.{0,300}Assertion `.{1,200}' failed"
    r"|\[20\d\d-\d\d-\d\d [\d:,]{8,15} C \d{1,10} \d{1,10}\] |.{0,120}An error occurred in MPI_|Fatal error in \w)"
)
# Not "没有错误" (no error) and "失败: 0".
_CHINESE = re.compile(
    r"(?<!没有)(?<!无)(?<!零)(?:错误|失败|出错|报错|崩溃|致命|(?:发生|出现|抛出|遇到|触发)\w{0,10}异常|异常(?:退出|终止|中断|结束)"
    r"|(?:连接|请求|等待|通信|响应|任务|执行|读取|已经?)超时|无法(?:连接|打开|加载|分配|创建|找到|读取|写入|启动|访问|解析|初始化|导入))"
    r"(?!(?:数|次数|率|时间|时长|重试|处理)?\s{0,3}[:=\uff1a为]?\s{0,3}0(?:\.0*)?(?![\d.]))(?!率|时间|时长|重试|处理)"
)
# "[… DP0 TP2] Failed to update parameter online: …", "The worker group startup timed out after 30.0 seconds …".
_STATEMENT = re.compile(
    r"^(?:\[[^\]]{0,80}\]\s{0,4}|[\d:.,/TZ+-]{4,40}\s{1,4}){0,4}(?:(?:[\w ]{1,40}\. )?(?:(?:Failed|Unable) to |Could(?: not|n't) |Can(?:not|'t) )"
    r"|[\w' -]{1,100} (?:failed(?:[:.]| with| because| after)|timed out after )"
    r"|\W{0,4}[\w':-][\w':. -]{0,100} timed out (?:waiting )?(?:for|after) )"
)
# The line's own level, by which its program doesn't hold it for an error.
_UNIMPORTANT = re.compile(
    r"^(?:\[[^\]]{0,80}\]\s{0,4}|\([^)]{0,80}\)\s{0,4}|[\d:.,/TZ+|-]{2,40}\s{1,4}|[\w./:-]{1,80} (?:\[\d{1,3}\] |[-|] )(?:NCCL )?){0,6}\[?(?:INFO|DEBUG|TRACE)\b"
)
# "attempt 1/5 failed": not yet the last one.
_ATTEMPT = re.compile(r"(?i)\b(?:attempt|retry|try)\b[^\d\n]{0,12}(\d{1,4}) ?(?:/|of) ?(\d{1,4})\b")
_HANDLED = re.compile(
    r"(?i)\b(?:retry|retrying|fall(?:ing)? ?back|skip(?:ping|ped)?|ignor(?:ing|ed)|instead|optional|disabled|warning)\b"
)
# "WARNING … Failed to load x, falling back to y", above the traceback.
_SURVIVED = re.compile(
    r"(?i)\b(?:fail|unable|could ?n[o']t|cannot|can't|error|exception).{0,200}\b(?:retrying|falling back|skipp(?:ed|ing)|ignor(?:ed|ing)|continuing|(?<=[,;] )using)\b"
    r"|^\W{0,3}using .{1,200}\b(?:since|because|instead)\b|(?i:\b(?:start|train)(?:ing|s)? (?:\w{1,12} )?from scratch\b)"
    r"|(?<!NCCL )(?:\bWARN(?:ING)?\b|^\[?W \d).{0,200}\b(?:fail|unable|could ?n[o']t|can(?:not|'t| not)|error|exception).{0,200}:$"
)
# A logger writes its level before each line of a traceback that it doesn't hold for an error.
_LOW = re.compile(r"\b(?:DEBUG|INFO|WARN(?:ING)?)\b.{0,120}Traceback \(most recent")
# The other end has gone, or the work was cancelled.
_OF_PEER = re.compile(
    r"^(?:\w{1,60}\.){0,8}(?:BrokenPipe|Connection\w{0,20}|ClosedResource|Cancelled|EOF|\w{0,20}Disconnected|EngineDead)Error\b"
)
# The text of a model or of its programs: "model output: …", "│ … │", and "[sandbox] … stderr:" or "Completion 0:" above a traceback.
_QUOTED = re.compile(
    r"(?i)^\W{0,4}(?:(?:model|generated|raw) (?:output|text|code|response)|completion|prediction)\b[^:]{0,20}: \S|^[│┃] .*[│┃]$"
)
_QUOTES = re.compile(
    r"(?i)^\W{0,4}sandbox\b.{0,200}:$|^\W{0,4}(?:(?:model|generated|raw) (?:output|text|code|response)|completion|prediction)\b[^:]{0,20}:$"
)
# The last line of a traceback: "ValueError: …", "torch.cuda.OutOfMemoryError: …", "KeyboardInterrupt".
_EXCEPTION = re.compile(r"^[A-Za-z_][\w.]{0,200}(?:\([\w.]{1,100}\))?(?::|$)")
# Without the traceback above it, as in a part of a log: "ValueError: …", "torch.OutOfMemoryError: …".
_NAMED_EXCEPTION = re.compile(r"^(?:\w{1,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception): \S")
# "ray.exceptions.RayTaskError(ValueError): ray::step() (pid=1, ip=10.0.0.1)".
_TASK_ERROR = re.compile(r"^ray\.exceptions\.RayTaskError(?:\((?P<cause>\w{1,100})\))?: ")
# vLLM's prefix of each line of a traceback: "(EngineCore_DP0 pid=7) ERROR 11-21 01:25:07 [core.py:10] ", without
# brackets until 0.8, and a second prefix of Ray; and torch: "E0303 11:40:42.533000 713 torch/_inductor/compile.py:533]
# ".
_LOGGED = re.compile(
    r"^(?:(?:\([\w.-]{1,60} pid=\d{1,9}[^()]{0,60}\) ){0,2}(?:ERROR|CRITICAL) \d\d-\d\d [\d:.]{8,15} \[?"
    r"|E\d{4} [\d:.]{15} \d{1,9} )[\w./-]{1,120}:\d{1,6}\](?: |$)"
)
_FRAME = re.compile(r"(?:\s|File \"|Traceback |ray::|\^|\+-)")
# A logger's line after a traceback has a colon, too, and isn't an exception.
_LEVELS = re.compile(r"^(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b")
# Python's line before a traceback whose exception was raised while the one above was handled, or because of it.
_HANDLING = "During handling of the above exception, another exception occurred:"
_BECAUSE = "The above exception was the direct cause of the following exception:"
# The exception of a failed lookup names only the key: a handler that raises another one says what it means.
_LOOKUP = re.compile(
    r"^(?:[A-Za-z_][\w.]{0,100}\.)?(?:KeyError|IndexError|AttributeError|StopIteration)\b"
)
_TIMEOUT = re.compile(r"Timeout|\b[Tt]im(?:ed|e) ?out\b")
# Exit messages of a program that was stopped.
STOPS = ("KeyboardInterrupt", "SystemExit")
# Python's line above the traceback of a destructor, exit handler or logging handler, whose exception has no effect.
_IGNORED = re.compile(r"(?:^|\W)Exception ignored (?:in|on|while)\b|^--- Logging error ---$")
# Threads that are still busy when the program has done its work (CPython 3.12, FunASR#2774).
_AT_EXIT = re.compile(r"\binterpreter shutdown\b|\bPython is likely shutting down\b")
# An exception that says that another line has the reason: "… See stack trace for root cause."
_POINTS = re.compile(
    r"(?i)\broot cause above\b|\b(?:see|check) (?:the )?(?:stack ?trace|errors?|logs?) (?:above|for (?:the )?root cause)\b"
)


def is_of_other_program(text: str) -> bool:
    """Whether an error is logged as programs in Python don't."""
    return bool(_LOGFMT.search(text))


def is_error(text: str) -> bool:
    """Whether a line without prefix and colours reports an error by its level or a signal; not the lines of a logged traceback."""
    logged = _LOGGED.match(text)
    if logged and (logged.end() == len(text) or _FRAME.match(text, logged.end())):
        return False
    if is_chained(text):
        return False
    signs = (_LEVEL, _TOOL, _SHELL, _SERVICE_LEVEL, _CHINESE)
    return any(sign.search(text) for sign in signs) or is_crash(text) or _is_native_error(text)


def is_unimportant(text: str) -> bool:
    """Whether a logger has written a line below the level of warnings, or another attempt follows."""
    attempt = _ATTEMPT.search(text)
    is_tried_again = attempt is not None and int(attempt[1]) < int(attempt[2])
    return is_tried_again or bool(_UNIMPORTANT.match(text))


def states_failure(text: str) -> bool:
    """Whether a line says in words that something failed, with a level or without one."""
    if is_of_other_program(text):
        return False
    return is_error(text) or (bool(_STATEMENT.match(text)) and not _HANDLED.search(text))


def is_crash(text: str) -> bool:
    """Whether a line says that a process ends which can't continue: as good a sign as an exception."""
    native = _NATIVE.match(text)
    return bool(_CRASH.match(text)) or (native is not None and native["level"] == "F")


def is_dumped(text: str) -> bool:
    """Whether faulthandler writes the stacks of a process after this line."""
    return text.startswith("Fatal Python error: ")


def is_abort(text: str) -> bool:
    """Whether a process has ended itself, which says nothing of why: the line before it may."""
    return text.startswith("Fatal Python error: Aborted")


def is_terminate(text: str) -> bool:
    """Whether C++ ends the process because of an exception, whose message is in the line after this one."""
    return text.startswith("terminate called ")


def message_of(text: str) -> str:
    """The message of the exception for which C++ has ended a process, "" if a line doesn't have it."""
    return text.strip() if text.lstrip().startswith("what(): ") else ""


def _is_native_error(text: str) -> bool:
    return bool(_NATIVE.match(text)) and not _NATIVE_NOISE.search(text)


def is_exception(text: str) -> bool:
    """Whether a line belongs to an exception, whatever is above it."""
    return bool(_NAMED_EXCEPTION.match(text)) and not is_of_task(text)


def is_without_effect(text: str, before: str) -> bool:
    """Whether an exception doesn't end its program: Python ignores it, or has ended already; `before` is above its traceback."""
    return bool(_IGNORED.search(before) or _AT_EXIT.search(text))


def is_survived(text: str) -> bool:
    """Whether the line above or below a traceback, or its own first line, says that the program continues without what has failed."""
    return bool(_SURVIVED.search(text) or _LOW.search(text)) and not _IGNORED.search(text)


def is_of_peer(text: str) -> bool:
    """Whether an exception only says that the other end of a connection has gone."""
    return bool(_OF_PEER.match(text))


def is_quoted(text: str) -> bool:
    """Whether a program only quotes what a model has written."""
    return bool(_QUOTED.match(text))


def quotes(before: str) -> bool:
    """Whether the line above a traceback says that it is of the program of a model, or of its text."""
    return bool(_QUOTES.match(before))


def points_elsewhere(text: str) -> bool:
    """Whether an exception only says that another one is the reason."""
    return bool(_POINTS.search(text))


def unlogged(text: str) -> str:
    """A line of a traceback without what a logger has written before it."""
    logged = _LOGGED.match(text)
    return text[logged.end() :] if logged else text


def logger_of(text: str) -> str:
    """Returns the logger's prefix of a traceback's line, which tells the lines of one message; "" without it."""
    logged = _LOGGED.match(text)
    return logged[0].strip() if logged else ""


def is_bare(text: str, code: str) -> bool:
    """Whether the line of an exception has only its name, as of an `assert` without a message, or only the key of a lookup in `code`."""
    is_key = text.startswith("KeyError: ") and "[" in code
    return is_key or re.fullmatch(r"[\w.]+:?\s*", text) is not None


def is_frame(text: str) -> bool:
    """Whether a line of a traceback is one of a frame."""
    return bool(_FRAME.match(unlogged(text)))


def is_of_task(text: str) -> bool:
    """Whether an exception is Ray's error of a task, after which the exception of its worker comes."""
    return bool(_TASK_ERROR.match(unlogged(text)))


def exception_in(lines: Sequence[str]) -> int:
    """The index of the line that names the exception, in the lines after "Traceback …"; -1 if it isn't there.

    Ray's error of a task is followed by the frames of the worker and the exception there, which is the one that counts.
    """
    wrapped = -1
    cause = ""
    is_code = False
    for index, line in enumerate(map(unlogged, lines)):
        # Pasted text may have lost its indentation (verl#6771).
        was_file, is_code = is_code, line.startswith('File "')
        if not line or _FRAME.match(line) or was_file:
            continue
        task_error = _TASK_ERROR.match(line)
        if wrapped >= 0 and not task_error:
            is_first = _names(line, "") and any(map(is_chained, lines[index + 1 : index + 3]))
            return index if _names(line, cause) or is_first else wrapped
        if not _EXCEPTION.match(line) or _LEVELS.match(line):
            return wrapped
        if not task_error:
            return index
        wrapped, cause = index, task_error["cause"] or ""
    return wrapped


def code_before(lines: Sequence[str], index: int) -> str:
    """The source of the last frame before the line of an exception, "" if it isn't logged."""
    for line in map(unlogged, reversed(lines[:index])):
        code = line.strip()
        if code and not re.fullmatch(r"[\^~ ]+", code):
            return "" if code.startswith("File ") else code
    return ""


def is_chained(text: str) -> bool:
    """Whether the traceback after this line is of the same failure as the one before it."""
    return unlogged(text).strip() in (_HANDLING, _BECAUSE)


def is_clearer(first: str, before: str, lines: Sequence[str], index: int) -> bool:
    """Whether the exception in the line `index` of a traceback says better than `first` what failed; `before` is above it.

    1. The cause of `raise … from …` is the first exception.
    2. An accident in a handler is its consequence: the first exception is the cause.
    3. What a handler raises on purpose is named in place of a failed lookup, since "KeyError: 'x'" says little.
    4. So is an error about time that is raised because of another one, and says for what its program has waited.
    """
    is_raised = _is_raised(lines, index)
    if _TIMEOUT.search(unlogged(first)):
        return is_raised and bool(_TIMEOUT.search(unlogged(lines[index])))
    is_lookup = bool(_LOOKUP.match(unlogged(first)))
    return is_raised and is_lookup and unlogged(before).strip() == _HANDLING


def _is_raised(lines: Sequence[str], index: int) -> bool:
    """Whether the last frame before the exception is at a `raise`, whose source may have several lines."""
    for line in map(unlogged, reversed(lines[:index])):
        code = line.strip()
        if code.startswith("raise "):
            return True
        if code.startswith("File "):
            return False
    return False


def _names(line: str, cause: str) -> bool:
    """Whether a line belongs to the exception `cause`, or to any exception if `cause` is ""."""
    if not cause:
        return bool(_EXCEPTION.match(line)) and not _LEVELS.match(line)
    return bool(re.match(rf"(?:[\w.]+\.)?{re.escape(cause)}\b", line))


# More frames than these are of a recursion, of which the innermost tell as much.
_MOST_FRAMES = 200
# Without the second comma in the dumps of faulthandler, whose first frame is the innermost.
_TRACEBACK_FRAME = re.compile(r"File \"([^\"]{1,500})\", line (\d{1,7}),? in (\S{1,200})")
_DUMPED = "(most recent call first)"


def frames_in(lines: Sequence[str]) -> list[PythonFrame]:
    """The frames in the lines of a traceback, the innermost last."""
    matches = (match for line in lines[-_MOST_FRAMES:] if (match := _TRACEBACK_FRAME.search(line)))
    return [PythonFrame(match[3], match[1], int(match[2])) for match in matches]


def dumped_frames(lines: Sequence[str]) -> list[PythonFrame]:
    """The frames of the first stack that faulthandler has written in these lines, the innermost last."""
    at = next((at for at, line in enumerate(lines) if _DUMPED in line), None)
    if at is None:
        return []
    stack = itertools.takewhile(_TRACEBACK_FRAME.search, lines[at + 1 :])
    return frames_in([*stack])[::-1]


def raised_at(frames: Sequence[PythonFrame]) -> str:
    """Where an exception was raised, by the frames of its traceback; "" without any.

    `Raised in average_tensor (stage_1_and_2.py:1480), called in step (train.py:88).`: the innermost frame, and the
    frame of the user's code.
    """
    if not frames:
        return ""
    innermost = frames[-1]
    users = next((frame for frame in reversed(frames) if is_users(frame)), None)
    if users is None or users is innermost:
        return t("Raised in {place}.", place=_place_of(innermost))
    return t(
        "Raised in {place}, called in {users}.", place=_place_of(innermost), users=_place_of(users)
    )


def _place_of(frame: PythonFrame) -> str:
    name = PurePosixPath(frame.file).name
    return f"{printable(frame.function, 100)} ({printable(name, 100)}:{frame.line})"
