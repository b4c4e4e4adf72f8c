"""The catalogue of errors: what happened in the words of the person, and what to do next.

Every error that can reach a person is an `EaglerayError` made by one of the factories below.
A foreign error (aiohttp, OSError, JSON) is mapped to one of them once, in `clients/`, `routes/`
or `adapter/`.  Texts are plain text: never Markdown, never a value that came from a cluster
without `printable`.
"""

from __future__ import annotations

from dataclasses import dataclass


# Not frozen: contextlib sets __traceback__ on exceptions that pass through it.
@dataclass(eq=False)
class EaglerayError(Exception):
    """An error of the catalogue.

    `code` is stable and meant for programs; `message` is one sentence that says what happened;
    `next_step` says what the person can do; `detail` goes to the log only.
    """

    code: str
    message: str
    next_step: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".strip()


def printable(text: str, limit: int = 200) -> str:
    """`text` on one line, without control characters, at most `limit` characters long."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


# --- clusters -------------------------------------------------------------------------------


def bad_address(address: str) -> EaglerayError:
    return EaglerayError(
        "bad-address",
        f"“{printable(address)}” is not the address of a Ray dashboard.",
        "Write a port (8265), host:port, or an http(s):// address.",
    )


def cluster_unreachable(address: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "cluster-unreachable",
        f"Nothing answers at {printable(address)}.",
        "Check that the Ray head is running and that this machine can reach its dashboard.",
        detail,
    )


def cluster_slow(address: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "cluster-slow",
        f"The dashboard at {printable(address)} did not answer within {seconds:g} s.",
        "It is asked again by itself; a head node under heavy load answers late.",
    )


def not_ray(address: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "not-ray",
        f"What answers at {printable(address)} is not a Ray dashboard.",
        "Check the port; `ray status` or the output of `ray start` names the dashboard's address.",
        detail,
    )


def redirected(address: str) -> EaglerayError:
    return EaglerayError(
        "redirected",
        f"The server at {printable(address)} sends us to another address, which is not followed.",
        "Add the dashboard's own address, not that of a login page or proxy in front of it.",
    )


def token_needed(address: str) -> EaglerayError:
    return EaglerayError(
        "token-needed",
        f"The cluster at {printable(address)} asks for a token.",
        "Use “Set Token” on the cluster, or set RAY_AUTH_TOKEN.",
    )


def token_refused(address: str) -> EaglerayError:
    return EaglerayError(
        "token-refused",
        f"The cluster at {printable(address)} refuses the token.",
        "Use “Set Token” on the cluster to type in the current one.",
    )


def dashboard_failed(address: str, status: int, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "dashboard-failed",
        f"The Ray dashboard at {printable(address)} answered with error {status}.",
        "It is asked again by itself; the log keeps what it said.",
        detail,
    )


def protobuf_breaks_api(address: str, detail: str) -> EaglerayError:
    return EaglerayError(
        "protobuf-breaks-api",
        f"{printable(address)} cannot list its workers: the protobuf installed on its head is too new for its Ray.",
        "On the head: pip install 'protobuf<4.26' 'google-api-core<2.18' 'googleapis-common-protos<1.63'"
        " 'proto-plus<1.24', then start Ray again.",
        detail,
    )


def dashboard_busy(address: str) -> EaglerayError:
    return EaglerayError(
        "dashboard-busy",
        f"The Ray dashboard at {printable(address)} has too many requests in flight.",
        "It is asked again by itself, less often.",
    )


def answer_too_large(address: str, limit: int) -> EaglerayError:
    return EaglerayError(
        "answer-too-large",
        f"The answer of {printable(address)} is larger than {limit // 2**20} MB and was dropped.",
        "Check that this is the address of a Ray dashboard.",
    )


def unknown_cluster(cluster: str) -> EaglerayError:
    return EaglerayError(
        "unknown-cluster",
        f"There is no cluster “{printable(cluster)}”.",
        "`eagleray clusters` lists the known ones; add another by its address.",
    )


def no_clusters() -> EaglerayError:
    return EaglerayError(
        "no-clusters",
        "No Ray cluster of yours is running on this machine, and none was added.",
        "Start one, or name its dashboard: `--cluster http://host:8265`.",
    )


# --- workers --------------------------------------------------------------------------------


def unknown_worker(worker: str) -> EaglerayError:
    return EaglerayError(
        "unknown-worker",
        f"No paused or held worker is called “{printable(worker)}”.",
        "It may have gone on or ended; `eagleray paused` lists those that wait.",
    )


def ambiguous_worker(worker: str, count: int) -> EaglerayError:
    return EaglerayError(
        "ambiguous-worker",
        f"“{printable(worker)}” fits {count} workers.",
        "Write more of the worker id.",
    )


def no_log(worker: str) -> EaglerayError:
    return EaglerayError(
        "no-log",
        f"There is no log file of {printable(worker)}.",
        "Ray keeps the logs of a worker on its node; a node that is gone took them with it.",
    )


def bad_pattern(pattern: str, detail: str) -> EaglerayError:
    return EaglerayError(
        "bad-pattern",
        f"“{printable(pattern)}” is not a regular expression: {printable(detail)}.",
        "Correct it, or search for it as plain text.",
    )


def slow_pattern(pattern: str) -> EaglerayError:
    return EaglerayError(
        "slow-pattern",
        f"“{printable(pattern)}” takes too long to be searched for.",
        "Write the expression without nested repetitions, or search for it as plain text.",
    )


# --- debugging ------------------------------------------------------------------------------


def worker_ran_on(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-ran-on",
        f"{printable(worker)} is not waiting any more: it went on before we came.",
        "It is listed again when it reaches its next breakpoint().",
    )


def worker_gone(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-gone",
        f"{printable(worker)} has ended.",
        "Its log may say why: use “Open Log”.",
    )


def worker_busy(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-busy",
        f"Another debugger is attached to {printable(worker)}.",
        "Disconnect it there; a worker takes one debugger at a time.",
    )


def worker_taken(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-taken",
        f"{printable(worker)} is attached to by another window.",
        "“Attach” on its row takes it over.",
    )


def worker_unreachable(worker: str, host: str, port: int, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "worker-unreachable",
        f"The debug port {printable(host)}:{port} of {printable(worker)} cannot be reached from this machine.",
        "Run the editor on a machine of the cluster, or use Remote-SSH to the login node.",
        detail,
    )


def not_at_breakpoint(worker: str) -> EaglerayError:
    return EaglerayError(
        "not-at-breakpoint",
        f"{printable(worker)} does not stand at a breakpoint() that could be ignored.",
        "It waits after an error or a step: attach to it, or continue it.",
    )


def worker_silent(worker: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "worker-silent",
        f"{printable(worker)} accepted the connection but did not answer within {seconds:g} s.",
        "It is still paused; try again, or look at its log.",
    )


def not_a_debugger(worker: str, host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "not-a-debugger",
        f"What listens at {printable(host)}:{port} is not the debugger of {printable(worker)}.",
        "The worker may have ended and its port been given to another process; refresh the list.",
    )


def attach_refused(worker: str, text: str) -> EaglerayError:
    return EaglerayError(
        "attach-refused",
        f"The debugger of {printable(worker)} refused: {printable(text)}",
        "Its log may say why: use “Open Log”.",
    )


def adapter_in_use(count: int) -> EaglerayError:
    return EaglerayError(
        "in-use",
        f"The debug adapter is attached to {count} workers.",
        "Release them first: `eagleray release`.",
    )


def adapter_lost(detail: str = "") -> EaglerayError:
    return EaglerayError(
        "adapter-lost",
        "Eagleray's debug adapter ended; the workers that it held have run on.",
        "Attach again when they reach their next breakpoint().",
        detail,
    )


def adapter_stuck(seconds: float) -> EaglerayError:
    return EaglerayError(
        "adapter-stuck",
        f"Eagleray's debug adapter did not answer within {seconds:g} s.",
        "Try again; the workers that it holds still wait.",
    )


def adapter_not_started(detail: str) -> EaglerayError:
    return EaglerayError(
        "adapter-not-started",
        "Eagleray's debug adapter could not be started.",
        "The log says why.",
        detail,
    )


def unsafe_folder(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "unsafe-folder",
        f"The folder {printable(path)} is not safe for sockets: {why}.",
        "Remove it, or set EAGLERAY_HOME to a folder that only you can enter.",
    )


# --- source mapping -------------------------------------------------------------------------


def not_a_folder(path: str) -> EaglerayError:
    return EaglerayError(
        "not-a-folder",
        f"{printable(path)} is not a folder on this machine.",
        "Choose the folder that holds your copy of the worker's files.",
    )


def no_worker_file(path: str) -> EaglerayError:
    return EaglerayError(
        "no-worker-file",
        f"The worker has no file {printable(path)} that it can read.",
        "The code may have been made at run time.",
    )


# --- everything -----------------------------------------------------------------------------


def cancelled() -> EaglerayError:
    return EaglerayError("cancelled", "Cancelled.")


def internal(detail: str) -> EaglerayError:
    return EaglerayError(
        "internal",
        "Something in Eagleray went wrong.",
        "“Show Logs” has the details; a report of them helps us mend it.",
        detail,
    )
