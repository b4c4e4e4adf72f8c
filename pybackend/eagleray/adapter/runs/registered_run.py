"""A run that is registered with the adapter: its secret key, its breakpoints, and how its workers are attached to."""

from __future__ import annotations

from collections.abc import Callable

from eagleray.adapter.runs.breakpoint_table import BreakpointTable
from eagleray.adapter.runs.process_info import ProcessInfo, mappings
from eagleray.adapter.runs.proxy import ProxyClient
from eagleray.protocol.adapter_control import AttachParams
from eagleray.protocol.runs import RunRegister
from eagleray.remote.injected.ed25519 import SecretKey

# Called with the ids of run and worker, and the text.
OutputListener = Callable[[str, str, str], None]


class RegisteredRun:
    """Shared by the processes of the run, which call `notify_changed` after each change of theirs."""

    def __init__(
        self, register: RunRegister, notify_changed: Callable[[], None], on_output: OutputListener
    ) -> None:
        self.register = register
        self.secret_key = SecretKey(bytes.fromhex(register.secret))
        self.breakpoints = BreakpointTable(register.breakpoints)
        self.notify_changed = notify_changed
        self._on_output = on_output

    def attach_params(self, proxy: ProxyClient, info: ProcessInfo) -> AttachParams:
        """How the process behind a debug proxy is attached to; no user has asked for it yet."""
        return AttachParams(
            session=info.session or self.register.session,
            worker_id=info.worker_id,
            cluster=self.register.cluster,
            name=info.name,
            host=proxy.host,
            port=proxy.port,
            mappings=[*self.register.mappings, *mappings(info.files)],
            routes=list(proxy.specs),
            seen=False,
            rank=info.rank,
            kind=info.kind,
            class_name=info.class_name,
        )

    def write_output(self, worker_id: str, text: str) -> None:
        """Passes on the message of a log point."""
        self._on_output(self.register.run, worker_id, text)
