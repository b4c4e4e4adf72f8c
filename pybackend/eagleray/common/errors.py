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
        "Write a port (8265), host:port, an http(s):// address, ssh://HOST/8265 or slurm://JOB.",
    )


def bad_route(written: str) -> EaglerayError:
    return EaglerayError(
        "bad-route",
        f"“{printable(written)}” is not the name of a host, a SLURM job or a node.",
        "Write the host as in `ssh HOST`, the job as `squeue` shows it.",
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


def token_expired(address: str) -> EaglerayError:
    return EaglerayError(
        "token-expired",
        f"The token for the cluster at {printable(address)} has expired or was replaced.",
        "Use “Set Token” on the cluster to type in the current one.",
    )


def proxy_refused(address: str, status: int) -> EaglerayError:
    return EaglerayError(
        "proxy-refused",
        f"The proxy in front of {printable(address)} refuses us (HTTP {status}).",
        "Give this cluster the headers that the proxy asks for.",
    )


def headers_kept_back(address: str) -> EaglerayError:
    return EaglerayError(
        "headers-kept-back",
        f"Another user of this machine now listens at {printable(address)}, who was not sent your headers.",
        "Start your tunnel or dashboard on another port, and add that address.",
    )


def stranger_listens(cluster: str, port: int) -> EaglerayError:
    return EaglerayError(
        "stranger-listens",
        f"Port {port}, where {printable(cluster)} was, belongs to another user there, who was sent no token.",
        "Start your cluster's dashboard on another port, and add that address.",
    )


def ca_needed(address: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ca-needed",
        f"The certificate of {printable(address)} comes from an authority that this machine does not know.",
        "Name the file with that authority's certificate (PEM) for this cluster.",
        detail,
    )


def certificate_refused(address: str, why: str) -> EaglerayError:
    return EaglerayError(
        "certificate-refused",
        f"The certificate of {printable(address)} is not valid: {printable(why)}.",
        "Use the host name that the certificate was made for, or have it renewed.",
    )


def bad_ca_file(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "bad-ca-file",
        f"The file of certificates {printable(path)} cannot be used: {printable(why)}.",
        "Name a PEM file that holds the certificate of the authority.",
    )


def bad_header(name: str) -> EaglerayError:
    return EaglerayError(
        "bad-header",
        f"“{printable(name, 60)}” cannot be sent as a header.",
        "Names and values of headers are plain ASCII; those that frame a request are set by us.",
    )


def bad_access_file(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "bad-access-file",
        f"{printable(path)} cannot be used: {printable(why)}.",
        "It must be JSON, belong to you and have the mode 0600.",
    )


def cluster_connecting(address: str) -> EaglerayError:
    return EaglerayError(
        "cluster-connecting",
        f"The connection to {printable(address)} is being opened.",
        "It may wait for what you are asked: a code, a passphrase, a key to be touched.",
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


# --- SLURM and the way to a cluster -----------------------------------------------------------


def no_slurm(host: str) -> EaglerayError:
    where = printable(host) or "this machine"
    return EaglerayError(
        "no-slurm",
        f"There is no `squeue` on {where}.",
        "Choose the login node of the SLURM cluster.",
    )


def slurm_failed(command: str, said: str) -> EaglerayError:
    return EaglerayError(
        "slurm-failed",
        f"SLURM's `{printable(command, 40)}` failed: {printable(said.strip() or 'no reason given')}",
        "Try the command in a terminal; it is asked again by itself.",
    )


def command_slow(command: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "command-slow",
        f"`{printable(command, 40)}` did not end within {seconds:g} s and was stopped.",
        "Try again when the machine is less busy.",
    )


def job_over(job: str, word: str) -> EaglerayError:
    ends = {
        "CANCELLED": "was cancelled",
        "COMPLETED": "has ended",
        "COMPLETING": "is ending",
        "TIMEOUT": "ran out of time",
        "DEADLINE": "ran out of time",
        "PREEMPTED": "was preempted",
        "NODE_FAIL": "lost a node",
        "BOOT_FAIL": "lost a node",
        "OUT_OF_MEMORY": "ran out of memory",
        "FAILED": "failed",
        "": "is over; SLURM does not know it any more",
    }
    ended = ends.get(word.split(" ")[0], f"is {printable(word, 40)}")
    return EaglerayError(
        "job-over",
        f"Job {printable(job, 40)} {ended}.",
        "Submit it again; remove this cluster when it is not needed any more.",
    )


def job_waits(job: str, why: str, starts: str = "") -> EaglerayError:
    """`starts`: when SLURM expects it to, in the person's own words for a time."""
    expected = f"; SLURM expects it to start at {starts}" if starts else ""
    return EaglerayError(
        "job-waits",
        f"Job {printable(job, 40)} waits for its nodes{f' ({printable(why, 60)})' if why else ''}{expected}.",
        "It is found by itself when it runs.",
    )


def no_ray_in_job(job: str, why: str = "") -> EaglerayError:
    return EaglerayError(
        "no-ray-in-job",
        f"No Ray dashboard of yours was found in job {printable(job, 40)}. {printable(why)}".strip(),
        "Start Ray in it with its dashboard, or add the cluster by its address.",
    )


def not_surely_yours(job: str, node: str, why: str) -> EaglerayError:
    return EaglerayError(
        "not-surely-yours",
        f"A Ray dashboard answers on {printable(node)}, but whether it is that of job {printable(job, 40)} could not be seen: {printable(why)}",
        "If it is yours, add it by its address.",
    )


def unknown_node(node: str) -> EaglerayError:
    return EaglerayError(
        "unknown-node",
        f"The cluster has no node “{printable(node, 80)}” that could be found.",
        "It may have left the cluster; refresh the list.",
    )


def job_not_looked_into(why: str) -> EaglerayError:
    return EaglerayError(
        "job-not-looked-into",
        f"The nodes could not be asked: {printable(why)}",
        "It needs `python3` there, and for a look into a job `srun --overlap`.",
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


def node_gone(worker: str, node: str) -> EaglerayError:
    return EaglerayError(
        "node-gone",
        f"The node {printable(node)} of {printable(worker)} is gone, and the worker with it.",
        "Ray goes on listing it for a while; there is nothing left to attach to.",
    )


def worker_busy(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-busy",
        f"Another debugger is attached to {printable(worker)}.",
        "Disconnect it there; a worker takes one debugger at a time.",
    )


def worker_elsewhere(worker: str, host: str) -> EaglerayError:
    return EaglerayError(
        "worker-elsewhere",
        f"{printable(worker)} is held by Eagleray on {printable(host)}.",
        "Attach from a window there, or release it there: `eagleray release`.",
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


# --- routes ---------------------------------------------------------------------------------


def port_refused(host: str, port: int, why: str, through: str = "") -> EaglerayError:
    """`why` is what the last hop said."""
    said = printable(why).rstrip(".")
    return EaglerayError(
        "port-refused",
        f"{printable(host)}:{port} cannot be reached{_through(through)}: {said}.",
        "Check that it still runs, and that it listens on an address which is reached from there.",
    )


def port_silent(host: str, port: int, seconds: float, through: str = "") -> EaglerayError:
    return EaglerayError(
        "port-silent",
        f"{printable(host)}:{port} did not answer within {seconds:g} s{_through(through)}.",
        "A firewall may drop the packets, or the node be gone.",
    )


def link_lost(through: str, why: str = "") -> EaglerayError:
    return EaglerayError(
        "link-lost",
        f"The connection{_through(through)} was lost{f': {printable(why)}' if why else ''}".rstrip(
            "."
        )
        + ".",
        "It is made again by itself.",
    )


def worker_lost(worker: str, link: EaglerayError) -> EaglerayError:
    """`link` says what was lost."""
    return EaglerayError(
        "link-lost",
        f"{link.message.rstrip('.')}; {printable(worker)} has run on.",
        "Attach again when it reaches its next breakpoint().",
    )


def port_taken(port: int, detail: str) -> EaglerayError:
    return EaglerayError(
        "port-taken",
        f"Port {port} of this machine cannot be listened on: {printable(detail)}.",
        "Choose another one, or 0 for any that is free.",
    )


def route_not_possible(kind: str) -> EaglerayError:
    return EaglerayError(
        "route-not-possible",
        f"A connection by {printable(kind)} cannot be made from here.",
        "Use another way to the cluster.",
    )


def no_srun(host: str) -> EaglerayError:
    return EaglerayError(
        "no-srun",
        f"There is no `srun` on {printable(host) or 'this machine'}.",
        "Choose the login node of the SLURM cluster.",
    )


def node_not_in_job(node: str, job: str) -> EaglerayError:
    return EaglerayError(
        "node-not-in-job",
        f"{printable(node)} is not a node of job {printable(job)}, or no longer.",
        "Refresh the list of jobs.",
    )


def no_python_there(node: str, version: str = "") -> EaglerayError:
    has = f"Python {printable(version)} only" if version else "no `python3`"
    return EaglerayError(
        "no-python",
        f"{printable(node)} has {has}, which carries connections there.",
        "Load a module or environment with Python 3.6 or newer before the job is submitted.",
    )


def job_waits_for_step(job: str) -> EaglerayError:
    return EaglerayError(
        "job-waits-for-step",
        f"SLURM starts no further step in job {printable(job)}.",
        "All its resources are taken, or it is not running yet; ask the site whether `srun --overlap` is allowed.",
    )


def srun_failed(node: str, said: str) -> EaglerayError:
    return EaglerayError(
        "srun-failed",
        f"`srun` ran nothing on {printable(node)}: {printable(said) or 'it said nothing'}",
        "Try `srun --overlap --jobid JOB -w NODE hostname` in a terminal.",
    )


def command_missing(command: str, why: str) -> EaglerayError:
    return EaglerayError(
        "command-missing",
        f"{printable(command)} cannot be run: {printable(why)}.",
        "Check that it is installed and in PATH.",
    )


def adapter_too_old(version: str) -> EaglerayError:
    return EaglerayError(
        "adapter-too-old",
        f"The debug adapter of version {printable(version)} that runs here cannot do this.",
        "Release its workers (`eagleray release`); it then ends, and this version's takes over.",
    )


def _through(route: str) -> str:
    return f" through {printable(route)}" if route else ""


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
