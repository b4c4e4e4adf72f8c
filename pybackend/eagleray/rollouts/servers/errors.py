"""Errors of inference servers."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import t
from eagleray.common.redact import redact_text


# fmt: off
@error("unknown-server", "No inference server is named “{name}”.", "Select one from the list, or enter its URL.")
def unknown_server(name: str) -> EaglerayError: ...
@error("server-name-taken", "An inference server is already named “{name}”.", "Stop it first, or use another name.")
def server_name_taken(name: str) -> EaglerayError: ...
@error("bad-server-name", "“{name}” is not a valid server name.", "Use letters, digits, dots and dashes.")
def bad_server_name(name: str) -> EaglerayError: ...
@error("bad-server-place", "A server can't run in several places.",
       "Use one of `--cluster`, `--host` and `--slurm`, and none with `sbatch`.")
def bad_server_place() -> EaglerayError: ...
@error("bad-server-command", "The command can't be read: {reason}.", "Check its quotes.")
def bad_server_command(reason: str) -> EaglerayError: ...
@error("no-key-there", "The variable {name} has no value.", "Set it to the API key of the server.")
def no_key_there(name: str) -> EaglerayError: ...
@error("server-not-ours", "Eagleray didn't start {name}.", "Stop it where it was started.")
def not_stoppable(name: str) -> EaglerayError: ...
# fmt: on


def bad_server_url(url: str) -> EaglerayError:
    return EaglerayError(
        "bad-server-url",
        t("“{url}” is not the address of a server.", url=printable(redact_text(url))),
        t("Use an address such as http://127.0.0.1:8000/v1."),
    )


def server_port_taken(port: int, owner: str) -> EaglerayError:
    return EaglerayError(
        "server-port-taken",
        port_taken(port, owner),
        t("Stop that program, or use another port."),
    )


def port_taken(port: int, owner: str) -> str:
    if not owner:
        return t("Port {port} is already taken.", port=port)
    return t("Port {port} is already taken by {owner}.", port=port, owner=printable(owner, 100))


def server_failed(name: str, reason: str, output: str) -> EaglerayError:
    return EaglerayError(
        "server-failed",
        reason,
        t("The log of {name} has the details.", name=printable(name, 60)),
        output=output,
    )


def server_not_ready(name: str, reason: str) -> EaglerayError:
    return EaglerayError(
        "server-not-ready",
        reason or t("{name} doesn't listen yet.", name=printable(name, 60)),
        t("The log of {name} has the details.", name=printable(name, 60)),
    )


def key_rejected() -> str:
    return t("The server rejects the API key.")


def no_token(detail: str) -> str:
    return t("The server generates no token: {detail}", detail=detail)


def no_answer(url: str) -> str:
    return t("The server doesn't answer at {url}.", url=url)
