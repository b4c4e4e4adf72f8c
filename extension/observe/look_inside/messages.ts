// Printed from pybackend/eagleray/observe/look_inside/messages.py by `npm run messages`; do not edit.
import { request } from "../../common/wire";

export const OPEN = request<OpenInspection, OpenedInspection>("eagleray/inspections/open");

/** Begins to inspect a process; sources are looked for in `workspace_folders`. */
export interface OpenInspection {
  readonly target: InspectionTarget;
  readonly workspace_folders: readonly string[];
}

/**
 * A process: of a node of `cluster`, or of this machine if that is "".
 *
 * `node_id` may also be the name or address of the node.  `worker_id` is the worker's, "" if unknown.  `pausable`: a
 * debugger of ours can really stop it.
 */
export interface InspectionTarget {
  readonly pid: number;
  readonly cluster?: string;
  readonly node_id?: string;
  readonly worker_id?: string;
  readonly name?: string;
  readonly pausable?: boolean;
}

/**
 * A socket that shows the process as a paused debug session to one DAP client.
 *
 * `how` is "inside" or "py-spy", and `why_outside` the reason for the latter.
 */
export interface OpenedInspection {
  readonly socket: string;
  readonly name: string;
  readonly how: string;
  readonly why_outside: string;
}
