"""What went wrong on the way to a dashboard, as an error of the catalogue."""

from __future__ import annotations

import asyncio
import ssl

import aiohttp

from eagleray.common.errors import EaglerayError, printable
from eagleray.ray import errors

# OpenSSL's numbers of what a missing or private authority looks like.
_UNKNOWN_AUTHORITY = (18, 19, 20, 21)


def is_broken_connection(error: BaseException) -> bool:
    """Whether the connection failed or ended early, rather than being slow or refused by TLS."""
    if isinstance(error, asyncio.TimeoutError | aiohttp.ClientSSLError):
        return False
    return isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError | OSError)


def mapped(error: BaseException, address: str, seconds: float) -> EaglerayError:
    """The error that the person gets to see."""
    detail = f"{type(error).__name__}: {printable(str(error))}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _of_certificate(address, error.certificate_error)
    if isinstance(error, aiohttp.ConnectionTimeoutError | aiohttp.ClientConnectorError):
        return errors.cluster_unreachable(address, detail)
    if isinstance(error, asyncio.TimeoutError):
        return errors.cluster_slow(address, seconds)
    if isinstance(error, aiohttp.InvalidURL):
        return errors.bad_address(address)
    if isinstance(error, aiohttp.ClientResponseError | ValueError):
        return errors.not_ray(address, detail)
    return errors.cluster_unreachable(address, detail)


def _of_certificate(address: str, error: Exception) -> EaglerayError:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _UNKNOWN_AUTHORITY:
            return errors.ca_needed(address, error.verify_message)
        return errors.certificate_refused(address, error.verify_message)
    return errors.certificate_refused(address, str(error))
