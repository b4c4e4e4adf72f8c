"""The arguments of nsys: to start a worker ready for recordings, and to begin a recording."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..profile_settings import ProfileSettings

# Sampling the processor costs a lot and answers other questions; a report must not end the worker.
USUAL = {"sample": "none", "cpuctxsw": "none", "cuda-graph-trace": "node"}
# These options belong to a recording, all others to the start of the worker.
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
# Options that only `nsys profile` has; here nsys never ends a worker and waits for it alone.
NOT_OURS = frozenset({"kill", "d", "duration", "y", "delay", "w", "show-output", "wait", "n"})


def to_launch(profile: ProfileSettings, session: str) -> list[str]:
    """The arguments after `nsys` and before the worker's own command."""
    options = _options(profile)
    trace = options.pop("trace", profile.trace)
    if profile.when == "steps" and "cuda" not in trace.split(","):
        # Otherwise nsys ignores the calls by which a program begins and ends a recording (`nsys start --help`, 2022.4).
        trace = f"cuda,{trace}"
    if "cuda" not in trace.split(","):
        options.pop("cuda-graph-trace", None)
    arguments = ["launch", f"--session-new={session}", f"--trace={trace}", "--wait=primary"]
    return arguments + _formatted(
        (name, value) for name, value in options.items() if name not in OF_RECORDING
    )


def to_record(
    profile: ProfileSettings, session: str, output: str, in_ranges: bool = False
) -> list[str]:
    """The arguments that begin a recording; with `in_ranges` the program's own calls begin and end it."""
    options = {name: value for name, value in _options(profile).items() if name in OF_RECORDING}
    if in_ranges:
        options = {"capture-range": "cudaProfilerApi", "capture-range-end": "stop", **options}
    else:
        options = {name: value for name, value in options.items() if "capture-range" not in name}
    # If the file exists, nsys would otherwise write another one into /tmp without a message (measured with 2022.4).
    arguments = ["start", f"--session={session}", f"--output={output}", "--force-overwrite=true"]
    return arguments + _formatted(options.items())


def _options(profile: ProfileSettings) -> dict[str, str]:
    given = {LONG.get(name, name): value for name, value in profile.options.items()}
    options = {**USUAL, **given}
    return {name: value for name, value in options.items() if name not in NOT_OURS}


def _formatted(options: Iterable[tuple[str, str]]) -> list[str]:
    return [_option(name, value) for name, value in options]


def _option(name: str, value: str) -> str:
    dashes = "-" if len(name) == 1 else "--"
    return f"{dashes}{name}={value}" if value else f"{dashes}{name}"
