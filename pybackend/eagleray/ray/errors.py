"""Errors of Ray dashboards, tokens, certificates and jobs, and the mapping of foreign errors to them."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import t
from eagleray.ray.endpoint import Endpoint
from eagleray.ray.tokens import is_over

if TYPE_CHECKING:
    from eagleray.ray.job_agents import DeadAgent


# fmt: off
@error("bad-address", "“{address}” is not the address of a Ray dashboard.",
       "Enter a port (8265), host:port, http(s)://…, ssh://HOST/8265 or slurm://JOB.")
def bad_address(address: str) -> EaglerayError: ...
@error("cluster-unreachable", "Nothing answers at {address}.",
       "Check that Ray is running and that you can reach its dashboard.")
def cluster_unreachable(address: str, detail: str = "") -> EaglerayError: ...
@error("cluster-slow", "{address} did not respond within {seconds} s.", "The head node may be busy.", retries=True)
def cluster_slow(address: str, seconds: float) -> EaglerayError: ...
@error("not-ray", "{address} is not a Ray dashboard.",
       "Check the port. `ray start` prints the address of the dashboard.")
def not_ray(address: str, detail: str = "") -> EaglerayError: ...
@error("redirected", "{address} redirects elsewhere (login page or proxy?).", "Enter the dashboard's own URL.")
def redirected(address: str) -> EaglerayError: ...
@error("token-needed", "{address} requires a token.", "Set the token of the cluster.")
def token_needed(address: str) -> EaglerayError: ...
@error("token-refused", "{address} rejected the token.", "Set the current token of the cluster.")
def token_refused(address: str) -> EaglerayError: ...
@error("token-expired", "The token for {address} has expired or was replaced.", "Set the current token of the cluster.")
def token_expired(address: str) -> EaglerayError: ...
@error("proxy-refused", "The proxy at {address} denied access ({status}).", "Set the headers that the proxy requires.")
def proxy_refused(address: str, status: int) -> EaglerayError: ...
@error("headers-kept-back", "Another user listens at {address}, so your headers were not sent.",
       "Start your tunnel on another port, and connect to that address.")
def headers_withheld(address: str) -> EaglerayError: ...
@error("stranger-listens", "Port {port} of {cluster} belongs to another user. No token was sent.",
       "Start the dashboard on another port, and connect to that address.")
def stranger_listens(cluster: str, port: int) -> EaglerayError: ...
@error("listener-unchecked", "Can't check who owns the dashboard's port on {host}. Credentials were sent.",
       "If others sign in there, start the dashboard on a compute node.")
def listener_unchecked(host: str) -> EaglerayError: ...
@error("plain-text-credentials", "Your credentials for {address} are sent unencrypted.",
       "Connect by ssh://HOST/… or https://… instead.")
def plain_text_credentials(address: str) -> EaglerayError: ...
@error("ca-needed", "The certificate of {address} is not trusted.",
       "Set the certificate authority of the cluster (PEM).")
def ca_needed(address: str, detail: str = "") -> EaglerayError: ...
@error("certificate-refused", "The certificate of {address} is not valid: {why}.",
       "Use the host name of the certificate, or renew it.")
def certificate_refused(address: str, why: str) -> EaglerayError: ...
@error("bad-ca-file", "Can't use the certificate file {path}: {why}.",
       "Select a PEM file with the certificate of the authority.")
def bad_ca_file(path: str, why: str) -> EaglerayError: ...
@error("bad-header", "“{name}” can't be sent as a header.", "Use ASCII, and no header that frames the request.")
def bad_header(name: str) -> EaglerayError: ...
@error("bad-access-file", "Can't use {path}: {why}.", "It must be JSON that only you can read (mode 0600).")
def bad_access_file(path: str, why: str) -> EaglerayError: ...
@error("cluster-connecting", "Connecting to {address}…", "It may be waiting for your code, passphrase or security key.")
def cluster_connecting(address: str) -> EaglerayError: ...
@error("dashboard-failed", "{address} responded with error {status}.", "The log has the response.", retries=True)
def dashboard_failed(address: str, status: int, detail: str = "") -> EaglerayError: ...
@error("protobuf-breaks-api", "{address} can't list workers, because its protobuf is too new.",
       "Run on the head: pip install 'protobuf<4.26' 'google-api-core<2.18' 'googleapis-common-protos<1.63' 'proto-plus<1.24'. Then restart Ray.")
def protobuf_breaks_api(address: str, detail: str) -> EaglerayError: ...
@error("dashboard-busy", "{address} has too many requests.", retries=True)
def dashboard_busy(address: str) -> EaglerayError: ...
@error("unknown-cluster", "Unknown cluster “{cluster}”.", "Select one from the list, or connect by address.")
def unknown_cluster(cluster: str) -> EaglerayError: ...
@error("no-clusters", "No Ray cluster found.", "Start one, or name its dashboard: `--cluster http://host:8265`.")
def no_clusters() -> EaglerayError: ...
@error("job-refused", "{address} rejected the job.",
       "Submitting needs the dashboard of a full Ray (`ray[default]`). The log has the details.")
def job_refused(address: str, output: str) -> EaglerayError:
    """`output` is the response of the dashboard: often a traceback whose last line is the reason."""
@error("no-job-agent", "Ray's job agent at {address} doesn't answer.",
       "Read `dashboard_agent.log` on the head. Another Ray may use its port.")
def no_job_agent(address: str, output: str) -> EaglerayError:
    """The dashboard has no agent of a node that would start jobs, though it was asked for a while."""
@error("no-job", "{address} has no job {job}.", "It may have been deleted, or the cluster restarted.")
def no_job(address: str, job: str) -> EaglerayError: ...
@error("job-unfinished", "The job for {what} took longer than {seconds} s on {address}.",
       "The head node may be busy. Try again.")
def job_unfinished(address: str, what: str, seconds: float) -> EaglerayError: ...
@error("job-failed", "The job for {what} failed on {address}.", "The log has its output.")
def job_failed(address: str, what: str, output: str) -> EaglerayError: ...
# fmt: on


def answer_too_large(address: str, limit: int) -> EaglerayError:
    return EaglerayError(
        "answer-too-large",
        t(
            "The response of {address} is larger than {limit} MB.",
            address=printable(address),
            limit=limit // 2**20,
        ),
        t("Check that this is the address of a Ray dashboard."),
    )


# OpenSSL's error numbers of a missing or private authority.
_UNKNOWN_AUTHORITY = (18, 19, 20, 21)


def is_broken_connection(error: BaseException) -> bool:
    """Whether the connection failed or ended early, instead of being slow or rejected by TLS."""
    import aiohttp

    if isinstance(error, asyncio.TimeoutError | aiohttp.ClientSSLError):
        return False
    return isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError | OSError)


def map_foreign(error: BaseException, address: str, seconds: float) -> EaglerayError:
    """Returns the error of the catalogue for a foreign one."""
    import aiohttp

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


# Ray's own messages, since it answers 403 for both (2.60, `reporter_head.py` and `http_server_head.py`).
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
    url = urlsplit(endpoint.url)
    return url.scheme == "https" or url.path not in ("", "/") or bool(endpoint.headers(False))


def job_agent_dead(agent: DeadAgent) -> EaglerayError:
    return EaglerayError(
        "no-job-agent",
        t("The job agent of node {node} isn't running.", node=printable(agent.node))
        + " "
        + agent.why,
        t("End the process that has the port, then restart Ray.")
        + " "
        + t("Or start Ray with another `--dashboard-agent-listen-port`."),
    )
