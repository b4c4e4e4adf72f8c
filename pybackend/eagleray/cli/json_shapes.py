"""The shapes of `--json`: what scripts may rely on, independent of what editor and sidecar exchange.

Each shape lists its fields with their meaning; docs/command-line.md prints them, and tests keep both. A field is added
by adding a line here; none is renamed or removed without an entry in CHANGELOG.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import asdict, frozen

from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.features.clusters.handlers import shown_cluster
from eagleray.features.clusters.jobs import Jobs, shown_job
from eagleray.features.clusters.model import Cluster, JobStatus
from eagleray.features.debugging.model import Attachment
from eagleray.features.doctor.model import Diagnosis
from eagleray.features.inference.environment import environment_of
from eagleray.features.inference.model import InferenceServer
from eagleray.features.pdb.handlers import wire_session
from eagleray.features.pdb.sessions import WaitingPdb
from eagleray.features.presets.debug_runs import Row as PresetRow
from eagleray.features.reports.handlers import wire_report, wire_table
from eagleray.features.reports.model import LoadedReport, ReportTable
from eagleray.features.rollouts.agents.lost_server import no_answer
from eagleray.features.rollouts.agents.model import (
    VERDICT_KINDS,
    AgentRun,
    CodeLine,
    Observed,
)
from eagleray.features.rollouts.agents.statistics import wave_statistics
from eagleray.features.rollouts.agents.uncounted_tokens import uncounted_requests
from eagleray.features.rollouts.agents.verdicts import verdicts
from eagleray.features.rollouts.batches.model import BatchSummary
from eagleray.features.rollouts.trajectories.model import (
    DumpStatistics,
    TrajectoryGroup,
    TrajectoryItem,
    TrajectoryPage,
)
from eagleray.features.runs.handlers import wire_run
from eagleray.features.runs.records import StoredRun
from eagleray.features.workers.model import LiveWorker, LogEnd, PausedWorker

# The version of all shapes; a new one when a field is renamed, removed or gets another meaning.
VERSION = 1
# Of a wave; the trace file has all.
MOST_FAILURES = 100

Json = dict[str, Any]


@frozen
class Field:
    """A field: its meaning, its JSON type ("string", "integer or null"), and the fields of the objects in it."""

    meaning: str
    type: str = "string"
    fields: tuple[str, ...] = ()


Shape = dict[str, Field]

_VERSION = {"version": Field(f"version of this format: {VERSION}", "integer")}
_INTEGER = "integer"
_NUMBER_OR_NULL = "number or null"
_INTEGER_OR_NULL = "integer or null"
WARNING = ("code", "message", "next_step")
PROBLEM = (*WARNING, "output")
LOCATION = ("path", "line", "function", "local")
WORKER_STATES = '"paused", "debugging", "held", "running" or "gone"'

CLUSTER: Shape = {
    **_VERSION,
    "id": Field("what other commands take as --cluster"),
    "name": Field("the name in the editor"),
    "origin": Field('"own" (found on this machine) or "added"'),
    "state": Field(
        '"connecting", "connected", "unreachable", "unauthorized", "not-ray" or "failing"'
    ),
    "session": Field('Ray\'s session name, "" before the first answer'),
    "ray_version": Field('version of Ray, "" before the first answer'),
    "sentence": Field("the state as a sentence"),
    "problems": Field(f"list of {{{', '.join(PROBLEM)}}}", "array", PROBLEM),
    "route": Field(
        "{kind, via, state, sentence, message}, null for a direct connection",
        "object or null",
        ("kind", "via", "state", "sentence", "message"),
    ),
    "job": Field('SLURM job id, "" for none'),
    "host": Field('ssh destination, "" for none'),
    "time_left_s": Field("seconds left of its SLURM job, null if unknown", _NUMBER_OR_NULL),
    "time_warning": Field('a sentence while the time is nearly up and a worker is paused, else ""'),
}
JOB: Shape = {
    **_VERSION,
    "address": Field("what other commands take as --cluster"),
    "job": Field("SLURM job id"),
    "host": Field('ssh destination, "" for this machine'),
    "name": Field("name of the job"),
    "partition": Field("its partition"),
    "state": Field('"running", "pending" or "other"'),
    "reason": Field("why SLURM lets it wait"),
    "nodes": Field("number of nodes", _INTEGER),
    "sentence": Field("the state as a sentence"),
    "ray": Field('"live" (a Ray dashboard answers in it), "none" or "unknown"'),
    "time_left_s": Field("seconds left, null if unknown", _NUMBER_OR_NULL),
    "starts_s": Field("seconds until SLURM expects it to start, null if unknown", _NUMBER_OR_NULL),
}
_WORKER: Shape = {
    **_VERSION,
    "cluster": Field("id of its cluster"),
    "worker_id": Field("Ray's id of the worker"),
    "name": Field("name as in the editor"),
    "rank": Field("its rank, null if unknown", _INTEGER_OR_NULL),
    "node_id": Field("Ray's id of the node"),
    "node_ip": Field("IP address of the node"),
    "pid": Field("process id", _INTEGER),
}
PAUSED: Shape = {
    **_WORKER,
    "kind": Field('"breakpoint", "post-mortem" or "unknown"'),
    "state": Field(WORKER_STATES),
    "held": Field("whether the debug adapter holds it and no editor is attached", "boolean"),
    "waiting_s": Field(
        "seconds since it paused, or since it is held; null if unknown", _NUMBER_OR_NULL
    ),
    "location": Field(f"{{{', '.join(LOCATION)}}}, null if unknown", "object or null", LOCATION),
    "exception": Field('what it failed with, "" if unknown'),
    "threads": Field("number of paused threads", _INTEGER),
    "attempt": Field("attempt of its task", _INTEGER),
    "children": Field("worker ids of those that only relay its error", "array"),
    "held_on": Field('another machine that holds it, "" for none'),
}
WORKER: Shape = {
    **_WORKER,
    "kind": Field('"actor", "task", "driver" or "idle"'),
    "class_name": Field("its class, or what it runs"),
    "state": Field(f'{WORKER_STATES}; "idle"; of an actor also "pending" or "restarting"'),
    "running": Field('the tasks that it runs, "" for none'),
    "job_id": Field("Ray's id of its job"),
    "actor_id": Field('Ray\'s id of its actor, "" for none'),
    "waiting_s": PAUSED["waiting_s"],
    "location": PAUSED["location"],
    "exception": PAUSED["exception"],
}
ATTACHMENT: Shape = {
    **_VERSION,
    "socket": Field("Unix socket for any DAP client"),
    "cluster": Field("id of its cluster"),
    "worker_id": Field("Ray's id of the worker"),
    "name": Field("name as in the editor"),
    "rank": Field("its rank, null if unknown", _INTEGER_OR_NULL),
    "path": Field('file on the worker where it is paused, "" while it runs'),
    "line": Field("line where it is paused", _INTEGER),
    "local": Field('the same file on this machine, "" if unknown'),
}
OUTCOME: Shape = {
    **_VERSION,
    "done": Field("number of workers", _INTEGER),
    "failures": Field("list of {name, code, message}", "array", ("name", "code", "message")),
}
LOG: Shape = {
    **_VERSION,
    "title": Field("worker and stream"),
    "text": Field("the last lines"),
    "truncated": Field("whether the log holds more", "boolean"),
}
PDB_SESSION: Shape = {
    **_VERSION,
    "id": Field("what `eagleray pdb` takes"),
    "cluster": Field("id of its cluster"),
    "file": Field("file where it is paused"),
    "line": Field("line where it is paused", _INTEGER),
    "name": Field("name of the worker"),
    "node": Field("its node"),
    "pid": Field("process id", _INTEGER),
    "error": Field('what it failed with, "" at a breakpoint()'),
    "since": Field("seconds since 1970", "number"),
}
RUN_WORKER = (
    "cluster",
    "worker_id",
    "pid",
    "kind",
    "name",
    "state",
    "rank",
    "path",
    "line",
    "python",
)
_RUN_LINE = ("path", "line", "state", "moved_to", "workers", "reason")
_RUN_SERVER = ("name", "state", "url", "model", "reason", "warning")
_RUN_PICTURE = ("path", "taken_at", "kind", "sentence", "is_stuck")
RUN: Shape = {
    **_VERSION,
    "id": Field("what `eagleray runs` takes"),
    "name": Field("name of the run"),
    "kind": Field('"program", "module", "script", "command", "job", "remote" or "sbatch"'),
    "state": Field(
        '"starting", "running", "paused" (a worker is), "stopping", "exited", "failed",'
        ' "cancelled" or "unwatched" (its supervisor has ended)'
    ),
    "started": Field("seconds since 1970, 0 before it started", "number"),
    "ended": Field("seconds since 1970, 0 before it ended", "number"),
    "code": Field("exit code, null before it ended or if unknown", _INTEGER_OR_NULL),
    "cluster": Field("id of its cluster"),
    "command": Field("the command, secrets left out"),
    "cwd": Field("its folder"),
    "workspace": Field("folder of the window that started it"),
    "preset": Field('name of the preset, "" for none'),
    "workers": Field(f"list of {{{', '.join(RUN_WORKER)}}}", "array", RUN_WORKER),
    "lines": Field(f"breakpoints, list of {{{', '.join(_RUN_LINE)}}}", "array", _RUN_LINE),
    "note": Field("a sentence about its state"),
    "reason": Field("why it failed"),
    "tail": Field("its last lines of output"),
    "output": Field("file with its output"),
    "python": Field('its interpreter, "" if it isn\'t a Python program'),
    "can_restart": Field("whether it can be started again", "boolean"),
    "confirm_stop": Field('question before it is stopped, "" for none'),
    "picture": Field(
        f"{{{', '.join(_RUN_PICTURE)}}}: taken because nothing was printed, null for none",
        "object or null",
        _RUN_PICTURE,
    ),
    "server": Field(
        f"{{{', '.join(_RUN_SERVER)}}}: of an inference server, null for any other run",
        "object or null",
        _RUN_SERVER,
    ),
}
_SERVER: Shape = {
    **_VERSION,
    "name": Field("what `eagleray serve` takes"),
    "url": Field('base of its API with /v1, "" before it listens'),
}
SERVER: Shape = {
    **_SERVER,
    "state": Field('"starting", "ready", "unhealthy", "stopping", "stopped" or "failed"'),
    "model": Field('what it serves, "" if unknown'),
    "engine": Field('"vllm", "sglang", "llama.cpp", "transformers" or ""'),
    "run_id": Field('id of its run, "" for an added address'),
    "has_key": Field("whether it has an API key", "boolean"),
    "reason": Field("why it isn't ready"),
    "warning": Field('what you should know of it, else ""'),
}
STARTED_SERVER: Shape = {**_SERVER, "api_key": Field("its API key"), **SERVER}
SERVER_VARIABLES: Shape = {
    **_VERSION,
    "OPENAI_BASE_URL": Field("URL with /v1"),
    "OPENAI_API_KEY": Field('its key, "EMPTY" for none'),
    "ANTHROPIC_BASE_URL": Field("URL without /v1"),
    "ANTHROPIC_API_KEY": Field("the same key"),
    "AREAL_LLM_SERVER_ADDRS": Field("host:port"),
}
PRESET: Shape = {
    **_VERSION,
    "name": Field("what --preset takes"),
    "title": Field("what it is for"),
    "framework": Field('its framework, "" for any'),
    "own": Field("whether you made it", "boolean"),
}
_TABLE = ("id", "title", "columns", "rows", "total", "sorted_by", "descending", "note")
REPORT: Shape = {
    **_VERSION,
    "path": Field("the report"),
    "name": Field("its file name"),
    "database": Field("the database that nsys made of it"),
    "size": Field("bytes", _INTEGER),
    "worker": Field('name of the recorded actor, "" if unknown'),
    "class_name": Field('its class, "" if unknown'),
    "rank": Field("its rank, null if unknown", _INTEGER_OR_NULL),
    "host": Field("where it was recorded"),
    "started_utc": Field("when the recording began"),
    "duration_ns": Field("nanoseconds", _INTEGER),
    "nsys_version": Field("version of nsys"),
    "schema_version": Field("version of the database's schema"),
    "trace": Field("what was traced"),
    "gpus": Field("list of GPUs with their shares and curves", "array"),
    "tables": Field(f"list of {{{', '.join(_TABLE)}}}", "array", _TABLE),
    "warnings": Field(f"list of {{{', '.join(WARNING)}}}", "array", WARNING),
}

_READING = ("kind", "culprits", "confidence", "sentence", "next_step", "group")
_RANK = (
    "group",
    "rank",
    "role",
    "pid",
    "node",
    "doing",
    "call",
    "moves",
    "cpu",
    "state",
    "collectives",
    "gpus",
)
_NATIVE = ("group", "rank", "reason", "thread", "frames", "paused_s", "resumed")
_CHANGE = ("group", "ranks", "before", "after")
_INSIDE = ("group", "rank", "reason", "exceptions", "awaits")
_EXIT = ("group", "rank", "exit_code", "oom_kills", "exception", "path", "line")
PICTURE: Shape = {
    "version": Field("version of the picture", _INTEGER),
    "taken_at": Field("seconds since 1970", "number"),
    "verdict": Field(
        f"{{{', '.join(_READING)}, readings}}: ranks as text (`0-1,3`), confidence from 0 to 1",
        "object",
        (*_READING, "readings"),
    ),
    "classes": Field(
        "processes with the same stack: list of {group, ranks, doing, thread, frames}",
        "array",
        ("group", "ranks", "doing", "thread", "frames"),
    ),
    "ranks": Field(f"every process: list of {{{', '.join(_RANK)}}}", "array", _RANK),
    "coverage": Field(
        "{seen, unseen, nodes, workers, main_only, resumed}: how many processes were read, which ranks and nodes were not, "
        "with --workers its pattern, the ranks of which only the main thread was read, and those that were sent SIGCONT",
        "object",
        ("seen", "unseen", "nodes", "workers", "main_only", "resumed"),
    ),
    "inside": Field(
        f"what processes say of themselves, with --inside: list of {{{', '.join(_INSIDE)}}}",
        "array",
        _INSIDE,
    ),
    "target": Field('of what it is, such as "run 3f9c"; "" if that is unknown'),
    "native": Field(
        f"native frames of the process that matters most, with --native of one of each class: list of {{{', '.join(_NATIVE)}}}, frames of {{function, library}}",
        "array",
        _NATIVE,
    ),
    "exits": Field(
        f"what logs and the system say of ranks that end or have ended: list of {{{', '.join(_EXIT)}}}",
        "array",
        _EXIT,
    ),
    "changes": Field(
        f"which ranks are elsewhere, with --compare: list of {{{', '.join(_CHANGE)}}}, the last two lists of frames",
        "array",
        _CHANGE,
    ),
}
INSPECTION: Shape = {
    **_VERSION,
    "pid": Field("process id", _INTEGER),
    "how": Field('"inside" (the process answered) or "py-spy" (it was read from outside)'),
    "why_outside": Field('why the process gave no answer, else ""'),
    "thread": Field("name of the thread"),
    "exception": Field('the exception that the thread handles, else ""'),
    "stack": Field(
        "list of {function, path, line}, innermost first", "array", ("function", "path", "line")
    ),
    "variables": Field(
        "list of {name, value}: the local variables of the innermost frame of your own code",
        "array",
        ("name", "value"),
    ),
    "values": Field(
        "list of {expression, value, error}; value is null after an error",
        "array",
        ("expression", "value", "error"),
    ),
}
_EVIDENCE = ("path", "line", "text", "time", "node", "worker", "repeats", "rank")
_CAUSE = (
    "id",
    "sentence",
    "fix",
    "evidence",
    "secondary",
    "severity",
    "count",
    "files",
    "source",
    "settings",
    "why",
    "changes",
    "command",
)
DIAGNOSIS: Shape = {
    **_VERSION,
    "sentence": Field("what a user reads first"),
    "causes": Field(
        f"list of {{{', '.join(_CAUSE)}}}, the earliest first and consequences (secondary) last; evidence is a list of "
        f"{{{', '.join(_EVIDENCE)}}}, changes a list of {{where, name, value, framework}}: settings of a run that fix it, "
        'command one for a terminal that helps, "" for none',
        "array",
        _CAUSE,
    ),
    "unknown": Field(
        f"errors that no rule explains, the earliest first: list of {{{', '.join(_EVIDENCE)}}}",
        "array",
        _EVIDENCE,
    ),
    "checked": Field(
        "{files, bytes, rules, unchecked}: what was read, and which files were not, as {path, reason}",
        "object",
        ("files", "bytes", "rules", "unchecked"),
    ),
}

_ROW = (
    "item",
    "file",
    "line",
    "format",
    "group",
    "sample",
    "step",
    "reward",
    "tokens",
    "prompt_tokens",
    "first_version",
    "last_version",
    "truncated",
    "prompt",
    "completion",
    "problem",
)
_TRAJECTORY = ("row", "turns", "columns", "fields", "raw", "cut")
_GROUP = ("name", "prompt", "shared", "equal_rewards", "members")
_STATISTICS = (
    "items",
    "problems",
    "formats",
    "unit",
    "lengths",
    "rewards",
    "reward_bins",
    "length_bins",
    "without_reward",
    "truncated",
    "groups",
    "singles",
    "zero_advantage",
    "duplicates",
    "findings",
    "by_group",
)
TRAJECTORIES: Shape = {
    **_VERSION,
    "path": Field("the dump"),
    "items": Field("lines that were read, null with --item, --group and --stats", _INTEGER_OR_NULL),
    "matches": Field(
        "how many the list would have, null if they weren't counted", _INTEGER_OR_NULL
    ),
    "rows": Field(
        f"list of {{{', '.join(_ROW)}}}; prompt and completion are their beginnings", "array", _ROW
    ),
    "unfinished": Field(
        "last lines without an end: list of {file, line, text}", "array", ("file", "line", "text")
    ),
    "trajectory": Field(
        f"with --item: {{{', '.join(_TRAJECTORY)}}}: turns {{role, text, trained}}, a list for each column of tokens",
        "object or null",
        _TRAJECTORY,
    ),
    "group": Field(
        f"with --group: {{{', '.join(_GROUP)}}}: members {{row, completion, duplicate_of}}",
        "object or null",
        _GROUP,
    ),
    "statistics": Field(
        f"with --stats: {{{', '.join(_STATISTICS)}}}", "object or null", _STATISTICS
    ),
}
_RULE = ("rule", "ok", "text")
_AGENT_ERROR = ("type", "message", "traceback", "file", "line")
_AGENT_REQUEST = ("path", "status", "seconds", "pool_s", "tokens", "error")
_PERCENTILES = ("p50", "p99", "max")
_VERDICT = ("kind", "file", "line", "sentence")
_FAILURE = ("item", "group", "member", "outcome", "error")
_REWARD_BIN = ("low", "high", "count")
_CONTRACT = Field(f"what the framework takes, list of {{{', '.join(_RULE)}}}", "array", _RULE)
AGENT_RUN: Shape = {
    **_VERSION,
    "result": Field("what `run` returned, null if it returned nothing", "any"),
    "error": Field(
        f"{{{', '.join(_AGENT_ERROR)}}} of its exception, of its import or of a time-out, null for none",
        "object or null",
        _AGENT_ERROR,
    ),
    "contract": _CONTRACT,
    "outcome": Field(
        '"done", "rejected" (by the framework), "failed", "timeout", "cancelled" or "not-run"'
    ),
    "item": Field("number of the data item, counted from 1", _INTEGER),
    "mode": Field('"inline" or "subproc"'),
    "seconds": Field("how long it ran", "number"),
    "requests": Field(
        f"list of {{{', '.join(_AGENT_REQUEST)}}}; tokens is null if they aren't counted",
        "array",
        _AGENT_REQUEST,
    ),
    "threads": Field("names of threads that it left running", "array"),
    "trace": Field('the file with its trace, "" for none'),
}
AGENT_WAVE: Shape = {
    **_VERSION,
    "runs": Field("number of runs that were planned", _INTEGER),
    "done": Field("runs with a result that the framework takes", _INTEGER),
    "failed": Field(
        "runs that raised, were rejected, took too long or ended the program", _INTEGER
    ),
    "timeouts": Field("runs that took too long", _INTEGER),
    "cancelled": Field("runs that were cancelled or didn't start", _INTEGER),
    "interrupted": Field("whether Ctrl-C ended it", "boolean"),
    "groups": Field("number of groups", _INTEGER),
    "group_size": Field("runs of a group", _INTEGER),
    "mode": Field('"inline" or "subproc"'),
    "seconds": Field("how long it took", "number"),
    "max_in_flight": Field("most runs at once", _INTEGER),
    "max_requests_in_flight": Field("most requests at once", _INTEGER),
    "requests": Field("number of requests", _INTEGER),
    "tokens": Field("generated tokens", _INTEGER),
    "tokens_per_second": Field("generated tokens a second", "number"),
    "uncounted_requests": Field("compressed streams whose tokens aren't counted", _INTEGER),
    "latency_ms": Field(f"of runs, {{{', '.join(_PERCENTILES)}}}", "object", _PERCENTILES),
    "request_ms": Field(f"of requests, {{{', '.join(_PERCENTILES)}}}", "object", _PERCENTILES),
    "pool_wait_ms": Field(
        f"how long requests waited for a connection, {{{', '.join(_PERCENTILES)}}}",
        "object",
        _PERCENTILES,
    ),
    "loop_lag_ms": Field(
        "how late the event loop ran its timers, {p50, max}", "object", ("p50", "max")
    ),
    "clients": Field("HTTP clients that runs made", _INTEGER),
    "mean_reward": Field("mean of the rewards, null for none", _NUMBER_OR_NULL),
    "rewards": Field(f"histogram, list of {{{', '.join(_REWARD_BIN)}}}", "array", _REWARD_BIN),
    "verdicts": Field(
        f'list of {{{", ".join(_VERDICT)}}}; kind is one of {", ".join(VERDICT_KINDS)}; file is "" for none',
        "array",
        _VERDICT,
    ),
    "contract": _CONTRACT,
    "failures": Field(
        f"the failed runs, at most {MOST_FAILURES}: list of {{{', '.join(_FAILURE)}}}",
        "array",
        _FAILURE,
    ),
    "ending": Field(
        'why the program of the agent ended early, or how many runs lost the server, else ""'
    ),
    "threads": Field("names of threads that agents left running", "array"),
    "trace": Field('the file with the traces, "" for none'),
}

_COMPARISON_READING = ("verdict", "confidence", "sentence")
_DIVERGENCE = ("sequence", "position", "a_id", "b_id", "a_margin", "b_margin", "is_near_tie")
_PROMPTS = ("compared", "different", "plain_differ", "first")
_GREEDY = ("sequences", "positions", "agreement", "diverged", "near_ties")
_WORST_TOKEN = ("sequence", "position", "id", "text", "a", "b", "delta")
_COMPARED_SEQUENCE = (
    "index",
    "prompt_tokens",
    "tokens",
    "mean_abs_dlogp",
    "max_abs_dlogp",
    "first_divergence",
    "deltas",
)
_ENGINE = ("name", "kind", "model", "dtype", "logprobs", "defaults")
COMPARISON: Shape = {
    **_VERSION,
    "verdict": Field(
        '"consistent", "kernel-mismatch", "precision-mismatch", "stale-weights", "template-mismatch",'
        ' "tokenizer-drift", "sampling-mismatch" or "unknown"'
    ),
    "confidence": Field("from 0 to 1", "number"),
    "sentence": Field("the verdict as a sentence, with its figures"),
    "next_step": Field("what you can do"),
    "readings": Field(
        f"what the figures may mean, the best first: list of {{{', '.join(_COMPARISON_READING)}}}",
        "array",
        _COMPARISON_READING,
    ),
    "tokens": Field("number of tokens whose logprobs were compared", _INTEGER),
    "mean_abs_dlogp": Field(
        "mean of the differences of logprobs; null without any", _NUMBER_OR_NULL
    ),
    "max_abs_dlogp": Field("the largest of them", _NUMBER_OR_NULL),
    "mean_abs_dp": Field("mean of the differences of probabilities", _NUMBER_OR_NULL),
    "k1_kl": Field("mean of log p(A) - log p(B)", _NUMBER_OR_NULL),
    "k3_kl": Field("mean of r - log r - 1 with r = p(B) / p(A)", _NUMBER_OR_NULL),
    "mult_error": Field(
        "mean of exp of the absolute differences, as token_mult_prob_error of NeMo RL",
        _NUMBER_OR_NULL,
    ),
    "pearson": Field("correlation of the probabilities", _NUMBER_OR_NULL),
    "first_divergence": Field(
        f"{{{', '.join(_DIVERGENCE)}}}: the first greedy token that differs, null for none",
        "object or null",
        _DIVERGENCE,
    ),
    "prompts": Field(
        f"{{{', '.join(_PROMPTS)}}}: how many prompts have other token ids", "object", _PROMPTS
    ),
    "greedy": Field(
        f"{{{', '.join(_GREEDY)}}}: how many greedy completions diverge", "object", _GREEDY
    ),
    "worst_tokens": Field(
        f"largest differences: list of {{{', '.join(_WORST_TOKEN)}}}", "array", _WORST_TOKEN
    ),
    "sequences": Field(
        f"list of {{{', '.join(_COMPARED_SEQUENCE)}}}; deltas are log p(A) - log p(B) of each token",
        "array",
        _COMPARED_SEQUENCE,
    ),
    "left_out": Field("number of sequences with fewer logprobs than tokens", _INTEGER),
    "notes": Field("list of sentences", "array"),
    "a": Field(f"{{{', '.join(_ENGINE)}}}: the engine of the rollouts", "object", _ENGINE),
    "b": Field(f"{{{', '.join(_ENGINE)}}}: the trainer", "object", _ENGINE),
}
_TENSOR = (
    "name",
    "shape",
    "dtype",
    "bytes",
    "nan",
    "infinite",
    "least",
    "most",
    "mean",
    "std",
    "row_sums",
)
_MASKED = ("name", "count", "least", "most", "mean", "std")
BATCH: Shape = {
    **_VERSION,
    "path": Field("the batch"),
    "torch": Field("version of torch that loaded it"),
    "loaded": Field('"weights_only" (nothing was executed) or "unpickled"'),
    "kind": Field("type of the whole"),
    "names": Field("what the file names besides tensors", "array"),
    "findings": Field("what is wrong, as sentences", "array"),
    "tensors": Field(
        f"list of {{{', '.join(_TENSOR)}}}; row_sums of masks: {{total, least, most, empty}}",
        "array",
        _TENSOR,
    ),
    "masked": Field(
        f"values of trained tokens: list of {{{', '.join(_MASKED)}}}", "array", _MASKED
    ),
    "values": Field("other values: list of {name, type, text}", "array", ("name", "type", "text")),
    "left_out": Field("parts that are not listed", _INTEGER),
}
REPLAY: Shape = {
    **_VERSION,
    "script": Field('the script that was written, "" for none'),
    "argv": Field("the command that trains on the batch", "array"),
}

SHAPES: dict[str, tuple[str, Shape]] = {
    "clusters": ("a list of", CLUSTER),
    "slurm": ("a list of", JOB),
    "workers": ("a list of", WORKER),
    "paused": ("a list of", PAUSED),
    "attach": ("one", ATTACHMENT),
    "continue, detach": ("one", OUTCOME),
    "logs": ("one", LOG),
    "pdb": ("a list of", PDB_SESSION),
    "runs": ("a list of", RUN),
    "serve": ("a list of", SERVER),
    "serve start, serve restart": ("one", STARTED_SERVER),
    "serve stop, serve add": ("one", SERVER),
    "serve env": ("one", SERVER_VARIABLES),
    "presets": ("a list of", PRESET),
    "report": ("one", REPORT),
    "stacks": ("one", PICTURE),
    "inspect": ("one", INSPECTION),
    "trajectories": ("one", TRAJECTORIES),
    "batch": ("one", BATCH),
    "replay": ("one", REPLAY),
    "doctor": ("one", DIAGNOSIS),
    "agent-run": ("one", AGENT_RUN),
    "agent-wave": ("one", AGENT_WAVE),
    "compare": ("one", COMPARISON),
}


def cluster_json(cluster: Cluster) -> Json:
    shown = shown_cluster(cluster)
    problems = [_shaped(problem, PROBLEM) for problem in shown.problems]
    return _shaped(shown, CLUSTER, problems=problems)


def job_json(status: JobStatus, jobs: Jobs) -> Json:
    """Flat: the fields of the job beside those of its status."""
    job = status.job
    return _shaped(
        shown_job(status, jobs),
        JOB,
        job=job.id,
        host=status.host,
        name=job.name,
        partition=job.partition,
        state=job.state if job.state in ("running", "pending") else "other",
        reason=job.reason,
        nodes=job.node_count,
        ray=status.ray,
    )


def paused_json(worker: PausedWorker, waited: float | None) -> Json:
    """Flat: workers that only relay the error of this one are rows of their own."""
    return _shaped(
        worker,
        PAUSED,
        children=[child.worker_id for child in worker.children],
        state=state_of(worker),
        held=worker.is_held,
        waiting_s=waited,
    )


def worker_json(worker: LiveWorker, paused: PausedWorker | None, waited: float | None) -> Json:
    """A live worker, with the stop of one that is paused or being debugged."""
    stop = asdict(paused) if paused else {}
    return _shaped(
        worker,
        WORKER,
        state=live_state(worker, paused),
        waiting_s=waited,
        location=stop.get("location"),
        exception=stop.get("exception", ""),
    )


def attachment_json(attachment: Attachment) -> Json:
    return _shaped(attachment, ATTACHMENT)


def outcome_json(done: int, failures: Sequence[tuple[str, EaglerayError]]) -> Json:
    failed = [{"name": name, "code": e.code, "message": e.message} for name, e in failures]
    return {"version": VERSION, "done": done, "failures": failed}


def log_json(log: LogEnd) -> Json:
    return _shaped(log, LOG)


def pdb_session_json(session: WaitingPdb) -> Json:
    return _shaped(wire_session(session), PDB_SESSION)


def run_json(run: StoredRun) -> Json:
    workers = [
        _shaped(worker, RUN_WORKER, cluster=run.state.cluster) for worker in run.state.workers
    ]
    return _shaped(wire_run(run), RUN, workers=workers)


def server_json(server: InferenceServer) -> Json:
    """Without its key."""
    return _shaped(server, SERVER, has_key=bool(server.api_key))


def started_server_json(server: InferenceServer) -> Json:
    """With its key: the caller has started it."""
    return _shaped(server, STARTED_SERVER, has_key=bool(server.api_key))


def server_variables_json(server: InferenceServer) -> Json:
    return {"version": VERSION, **environment_of(server)}


def preset_json(row: PresetRow) -> Json:
    return _shaped(row, PRESET)


def report_json(report: LoadedReport, tables: Sequence[ReportTable]) -> Json:
    shown = [asdict(wire_table(table, len(table.rows))) for table in tables]
    return _shaped(wire_report(report), REPORT, tables=shown)


def trajectories_json(
    path: str,
    page: TrajectoryPage | None = None,
    item: TrajectoryItem | None = None,
    group: TrajectoryGroup | None = None,
    statistics: DumpStatistics | None = None,
) -> Json:
    return {
        "version": VERSION,
        "path": path,
        "items": page and page.items,
        "matches": page and page.matches,
        "rows": [asdict(row) for row in page.rows] if page else [],
        "unfinished": [asdict(line) for line in page.unfinished] if page else [],
        "trajectory": item and asdict(item),
        "group": group and asdict(group),
        "statistics": statistics and asdict(statistics),
    }


def agent_run_json(observed: Observed, trace: str) -> Json:
    run = next(iter(observed.runs), None)
    requests = () if run is None else run.requests
    return {
        "version": VERSION,
        "result": None if run is None else run.result,
        "error": _agent_error(run, observed),
        "contract": [asdict(rule) for rule in observed.contract],
        "outcome": "not-run" if run is None else run.outcome,
        "item": observed.plan.items[0].number,
        "mode": observed.plan.mode,
        "seconds": 0.0 if run is None else run.seconds,
        "requests": [asdict(request) for request in requests],
        "threads": list(observed.threads),
        "trace": trace,
    }


def agent_wave_json(observed: Observed, trace: str) -> Json:
    figures, totals = wave_statistics(observed), observed.totals
    failed = [run for run in observed.runs if run.outcome not in ("done", "cancelled")]
    values: Json = {
        "version": VERSION,
        **{name: value for name, value in asdict(totals).items() if name in AGENT_WAVE},
        **{name: value for name, value in asdict(figures).items() if name in AGENT_WAVE},
        "uncounted_requests": uncounted_requests(observed),
        "interrupted": observed.is_interrupted,
        "groups": observed.plan.groups,
        "group_size": observed.plan.group_size,
        "mode": observed.plan.mode,
        "latency_ms": asdict(figures.latency),
        "request_ms": asdict(figures.request),
        "pool_wait_ms": asdict(figures.pool_wait),
        "loop_lag_ms": {"p50": totals.lag_p50_ms, "max": totals.lag_max_ms},
        "rewards": [asdict(each) for each in figures.rewards],
        "verdicts": [_only(asdict(verdict), _VERDICT) for verdict in verdicts(observed)],
        "contract": [asdict(rule) for rule in observed.contract],
        "failures": [_failure(run, observed) for run in failed[:MOST_FAILURES]],
        "ending": observed.ending or no_answer(observed),
        "threads": list(observed.threads),
        "trace": trace,
    }
    return _only(values, AGENT_WAVE)


def _failure(run: AgentRun, observed: Observed) -> Json:
    return _only({**asdict(run), "error": _agent_error(run, observed)}, _FAILURE)


def _agent_error(run: AgentRun | None, observed: Observed) -> Json | None:
    """The exception of the run or of the import; of a time-out, where the run was."""
    error = observed.load_error if run is None else run.error
    if error is not None:
        return _only(asdict(error), _AGENT_ERROR)
    if run is not None and run.outcome == "timeout":
        place = run.place or CodeLine("", 0)
        message = t("The run took longer than {limit} s.", limit=f"{observed.plan.timeout_s:g}")
        values = {"type": "TimeoutError", "message": message, "traceback": ""}
        return {**values, "file": place.file, "line": place.line}
    if run is not None and run.broken:
        return {**_no_place("rejected"), "message": run.broken[0].text}
    if observed.ending:
        return {**_no_place("ended"), "message": observed.ending}
    return None


def _no_place(kind: str) -> Json:
    return {"type": kind, "message": "", "traceback": "", "file": "", "line": 0}


def _only(values: Json, names: Iterable[str]) -> Json:
    return {name: values[name] for name in names}


def batch_json(path: str, summary: BatchSummary, findings: Sequence[str]) -> Json:
    return _shaped(summary, BATCH, path=path, findings=list(findings))


def replay_json(script: str, argv: Sequence[str]) -> Json:
    return {"version": VERSION, "script": script, "argv": list(argv)}


def state_of(worker: PausedWorker) -> str:
    """The state as the editor shows it; an editor may debug a worker that runs at the moment."""
    return "debugging" if worker.is_attached else worker.state


def live_state(worker: LiveWorker, paused: PausedWorker | None) -> str:
    """The state of any worker."""
    return worker.state if paused is None else state_of(paused)


def json_schema(name: str) -> Json:
    """The JSON schema of what `--json` of a command prints."""
    kind, shape = SHAPES[name]
    described = {
        "type": "object",
        "required": list(shape),
        "properties": {key: _field_schema(field) for key, field in shape.items()},
    }
    schema = described if kind == "one" else {"type": "array", "items": described}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"eagleray {name}",
        **schema,
    }


def _field_schema(field: Field) -> Json:
    types = field.type.split(" or ")
    schema: Json = {"type": types if len(types) > 1 else types[0], "description": field.meaning}
    if types == ["any"]:
        del schema["type"]
    if field.fields and types[0] == "object":
        schema["required"] = list(field.fields)
    elif field.fields:
        schema["items"] = {"type": "object", "required": list(field.fields)}
    return schema


def _shaped(record: Any, shape: Iterable[str], **instead: object) -> Json:
    """The fields of `record` that the shape names, in its order."""
    values = {"version": VERSION, **asdict(record), **instead}
    return {name: values[name] for name in shape}


def diagnosis_json(diagnosis: Diagnosis) -> Json:
    return {"version": VERSION, **asdict(diagnosis)}
