"""What nsys is told: to stand by at a worker, and to begin and end a recording there."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .profile_settings import ProfileSettings

# Sampling the processor costs a lot and answers other questions; a report must not end the worker.
USUAL = {"sample": "none", "cpuctxsw": "none", "cuda-graph-trace": "node"}
# These belong to a recording, all others to the standing by.
OF_RECORDING = frozenset(
    {
        *("s", "sample", "cpuctxsw", "b", "backtrace", "samples-per-backtrace"),
        *("sampling-period", "sampling-frequency", "sampling-trigger"),
        *("c", "capture-range", "capture-range-end", "x", "stop-on-exit", "export", "stats"),
        *("gpuctxsw", "gpu-metrics-device", "gpu-metrics-devices"),
        *("gpu-metrics-frequency", "gpu-metrics-set", "nic-metrics", "ib-switch-metrics-device"),
        *("event-sample", "event-sampling-frequency", "cpu-core-events", "cpu-core-metrics"),
        *("cpu-socket-events", "cpu-socket-metrics", "os-events", "storage-metrics"),
        *("ftrace", "ftrace-keep-user-config", "isr", "xhv-trace", "soc-metrics"),
    }
)
LONG = {"s": "sample", "t": "trace", "b": "backtrace", "c": "capture-range", "x": "stop-on-exit"}
# What only `nsys profile` knows; here a worker is never ended, and always waited for alone.
NOT_OURS = frozenset({"kill", "d", "duration", "y", "delay", "w", "show-output", "wait", "n"})


def to_stand_by(profile: ProfileSettings, session: str) -> list[str]:
    """The words after `nsys` and before the worker's own command."""
    known = _options(profile)
    trace = known.pop("trace", profile.trace)
    if profile.when == "steps" and "cuda" not in trace.split(","):
        # Else the calls by which a program begins and ends a recording are not seen.
        trace = f"cuda,{trace}"
    if "cuda" not in trace.split(","):
        known.pop("cuda-graph-trace", None)
    words = ["launch", f"--session-new={session}", f"--trace={trace}", "--wait=primary"]
    return words + _words(
        (name, value) for name, value in known.items() if name not in OF_RECORDING
    )


def to_record(
    profile: ProfileSettings, session: str, output: str, in_ranges: bool = False
) -> list[str]:
    """The words that begin a recording; `in_ranges`: the program itself says when."""
    known = {name: value for name, value in _options(profile).items() if name in OF_RECORDING}
    if in_ranges:
        known = {"capture-range": "cudaProfilerApi", "capture-range-end": "stop", **known}
    else:
        known = {name: value for name, value in known.items() if "capture-range" not in name}
    # Where a file is already, nsys else writes another one into /tmp, and says nothing.
    words = ["start", f"--session={session}", f"--output={output}", "--force-overwrite=true"]
    return words + _words(known.items())


def _options(profile: ProfileSettings) -> dict[str, str]:
    given = {LONG.get(name, name): value for name, value in profile.options.items()}
    known = {**USUAL, **given}
    return {name: value for name, value in known.items() if name not in NOT_OURS}


def _words(options: Iterable[tuple[str, str]]) -> list[str]:
    return [_word(name, value) for name, value in options]


def _word(name: str, value: str) -> str:
    dashes = "-" if len(name) == 1 else "--"
    return f"{dashes}{name}={value}" if value else f"{dashes}{name}"
