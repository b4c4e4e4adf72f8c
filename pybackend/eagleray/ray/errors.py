"""Errors of Ray dashboards, tokens, certificates and jobs, and the mapping of foreign errors to them."""

from __future__ import annotations

import asyncio
import ssl
import time

import aiohttp
from yarl import URL

from eagleray.common.errors import EaglerayError, printable
from eagleray.ray.endpoint import Endpoint
from eagleray.ray.tokens import is_over


def bad_address(address: str) -> EaglerayError:
    return EaglerayError(
        "bad-address",
        f"“{printable(address)}” is not the address of a Ray dashboard.",
        "Write a port (8265), host:port, an http(s):// address, ssh://HOST/8265 or slurm://JOB.",
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
        "A head node under heavy load answers late.",
        retries=True,
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
        "Set the token of the cluster.",
    )


def token_refused(address: str) -> EaglerayError:
    return EaglerayError(
        "token-refused",
        f"The cluster at {printable(address)} refuses the token.",
        "Set the current token of the cluster.",
    )


def token_expired(address: str) -> EaglerayError:
    return EaglerayError(
        "token-expired",
        f"The token for the cluster at {printable(address)} has expired or was replaced.",
        "Set the current token of the cluster.",
    )


def proxy_refused(address: str, status: int) -> EaglerayError:
    return EaglerayError(
        "proxy-refused",
        f"The proxy in front of {printable(address)} refuses us (HTTP {status}).",
        "Give this cluster the headers that the proxy asks for.",
    )


def headers_withheld(address: str) -> EaglerayError:
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


def listener_unchecked(host: str) -> EaglerayError:
    return EaglerayError(
        "listener-unchecked",
        f"{printable(host)} doesn't say who owns the dashboard's port, so Eagleray sent your credentials unchecked.",
        "If other users can log in there, let the dashboard listen on a compute node instead.",
    )


def plain_text_credentials(address: str) -> EaglerayError:
    return EaglerayError(
        "plain-text-credentials",
        f"Your credentials for {printable(address)} cross the network unencrypted.",
        "Add the cluster as ssh://HOST/… or https://… instead.",
    )


def ca_needed(address: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "ca-needed",
        f"This machine does not know the authority behind the certificate of {printable(address)}.",
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
        "The log keeps what it said.",
        detail,
        retries=True,
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
        retries=True,
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
        "Choose one from the list of clusters, or connect to it by its address.",
    )


def no_clusters() -> EaglerayError:
    return EaglerayError(
        "no-clusters",
        "No Ray cluster of yours is running on this machine, and none was added.",
        "Start one, or name its dashboard: `--cluster http://host:8265`.",
    )


# OpenSSL's error numbers of a missing or private authority.
_UNKNOWN_AUTHORITY = (18, 19, 20, 21)


def is_broken_connection(error: BaseException) -> bool:
    """Whether the connection failed or ended early, instead of being slow or rejected by TLS."""
    if isinstance(error, asyncio.TimeoutError | aiohttp.ClientSSLError):
        return False
    return isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError | OSError)


def map_foreign(error: BaseException, address: str, seconds: float) -> EaglerayError:
    """Returns the error of the catalogue for a foreign one."""
    detail = f"{type(error).__name__}: {printable(str(error))}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _of_certificate(address, error.certificate_error)
    if isinstance(error, aiohttp.ConnectionTimeoutError | aiohttp.ClientConnectorError):
        return cluster_unreachable(address, detail)
    if isinstance(error, asyncio.TimeoutError):
        return cluster_slow(address, seconds)
    if isinstance(error, aiohttp.InvalidURL):
        return bad_address(address)
    if isinstance(error, aiohttp.ClientResponseError | ValueError):
        return not_ray(address, detail)
    return cluster_unreachable(address, detail)


def _of_certificate(address: str, error: Exception) -> EaglerayError:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _UNKNOWN_AUTHORITY:
            return ca_needed(address, error.verify_message)
        return certificate_refused(address, error.verify_message)
    return certificate_refused(address, str(error))


# Ray's own messages, since it answers 403 for both.
PROFILING_OFF = "rofiling is disabled"
ABOUT_A_TOKEN = "authentication token"  # noqa: S105 (no token, but what Ray calls one)


def explain_refusal(
    address: str,
    endpoint: Endpoint,
    status: int,
    text: str,
    token: str | None,
    accepted: str | None,
) -> EaglerayError | None:
    """Returns the error for a response `status` to a request with `token`, None if it isn't about credentials.

    1. Ray has switched profiling off.
    2. A configured proxy answers with another message than Ray's.
    3. The token has expired, or the cluster accepted it before.
    4. The token is wrong.
    5. A server that got no token rejects the request.
    """
    if status == 403 and PROFILING_OFF in text:
        return None
    if ABOUT_A_TOKEN not in text and is_behind_proxy(endpoint):
        return proxy_refused(address, status)
    if token is not None:
        expired = token == accepted or is_over(token, time.time())
        return token_expired(address) if expired else token_refused(address)
    return token_refused(address) if status == 401 else None


def explain_foreign_server(address: str, endpoint: Endpoint, status: int) -> EaglerayError:
    """Returns the error for a server that wants credentials but doesn't answer Ray's request about them."""
    if status in (401, 403) and is_behind_proxy(endpoint):
        return proxy_refused(address, status)
    return not_ray(address, "it asks for credentials but not as Ray does")


def is_behind_proxy(endpoint: Endpoint) -> bool:
    """Whether the user configured a proxy: Ray's dashboard has no prefix, no TLS and needs no other headers."""
    url = URL(endpoint.url)
    return url.scheme == "https" or url.path not in ("", "/") or bool(endpoint.headers(False))


def job_refused(address: str, response: str) -> EaglerayError:
    """`response` is the response of the dashboard: often a traceback whose last line is the reason."""
    lines = [line.strip() for line in response.splitlines() if line.strip()]
    return EaglerayError(
        "job-refused",
        f"{printable(address)} did not take the job: {printable(lines[-1]) if lines else 'no reason given'}",
        "Submitting needs the dashboard of a full Ray (`ray[default]`). The log has the details.",
        printable(response, 4000),
    )


def no_job(address: str, job: str) -> EaglerayError:
    return EaglerayError(
        "no-job",
        f"{printable(address)} knows no job {printable(job)}.",
        "It may have been deleted, or the cluster was started anew.",
    )


def job_unfinished(address: str, what: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "job-unfinished",
        f"The job for {what} did not end within {seconds:g} s on {printable(address)}.",
        "The head may be busy; try again.",
    )


def job_failed(address: str, what: str, why: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "job-failed",
        f"The job for {what} failed on {printable(address)}: {printable(why) or 'no reason given'}",
        "The log has its output.",
        printable(detail, 4000),
    )
