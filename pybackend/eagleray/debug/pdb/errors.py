"""Errors of Ray's own pdb: unknown sessions, unreachable ones and busy ones."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, error


# fmt: off
@error("unknown-pdb", "No worker waits in pdb session “{session}”.", "It may have resumed, or another user debugs it.")
def unknown_pdb(session: str) -> EaglerayError: ...
@error("ambiguous-pdb", "“{session}” matches {count} pdb sessions.", "Enter more of its ID.")
def ambiguous_pdb(session: str, count: int) -> EaglerayError: ...
@error("pdb-out-of-reach", "The pdb of {name} accepts connections only on node {node}.",
       "Allow ssh to that node, or start nodes with `ray start --ray-debugger-external`.")
def pdb_out_of_reach(name: str, node: str, detail: str = "") -> EaglerayError: ...
@error("pdb-refused", "The pdb of {name} is closed.", "The worker may have ended.")
def pdb_refused(name: str) -> EaglerayError: ...
@error("pdb-silent", "Another terminal is connected to the pdb of {name}.", "Enter `c` in that terminal to leave it.")
def pdb_silent(name: str) -> EaglerayError: ...
@error("pdb-not-followed", "No task that {name} called paused within {seconds} s.",
       "It may be waiting for resources. It is listed once it pauses.")
def pdb_not_followed(name: str, seconds: float) -> EaglerayError: ...
# fmt: on
