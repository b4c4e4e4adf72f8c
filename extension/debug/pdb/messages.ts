// Printed from pybackend/eagleray/debug/pdb/messages.py by `npm run messages`; do not edit.
import { request } from "../../common/wire";
import type { Terminal } from "../../clusters/messages";

export const LIST = request<PdbOf, PdbSessions>("eagleray/pdb/list");
export const TERMINAL = request<PdbRef, Terminal>("eagleray/pdb/terminal");

/** A cluster by its id. */
export interface PdbOf {
  readonly cluster: string;
}

/** All that wait in a cluster; `note` says why none is listed, if that is known. */
export interface PdbSessions {
  readonly sessions: readonly PdbSession[];
  readonly note: string;
}

/** A waiting pdb by its cluster and id. */
export interface PdbRef {
  readonly cluster: string;
  readonly id: string;
}

/**
 * A worker that waits in Ray's own pdb (`RAY_DEBUG=legacy`) at `file:line` ("" and 0: where its task begins).
 *
 * `error` is what it failed with, "" at a breakpoint().  Texts are printable.  `pid` is 0 when unknown; `since` is in
 * seconds since the epoch.
 */
export interface PdbSession {
  readonly id: string;
  readonly cluster: string;
  readonly file: string;
  readonly line: number;
  readonly name: string;
  readonly node: string;
  readonly pid: number;
  readonly error: string;
  readonly since: number;
}
