// Printed from pybackend/eagleray/debug/source_mapping/messages.py by `npm run messages`; do not edit.
import { request, type Nothing } from "../../common/wire";

export const RESOLVE = request<Resolve, Resolution>("eagleray/sourceMapping/resolve");
export const SET_FOLDER = request<SetFolder, Mappings>("eagleray/sourceMapping/setFolder");
export const MAPPINGS = request<ClusterOf, Mappings>("eagleray/sourceMapping/mappings");
export const CONFIGURE = request<Configure, Nothing>("eagleray/sourceMapping/configure");
export const COMPARE = request<WorkerFile, Comparison>("eagleray/sourceMapping/compare");
export const WORKER_FILE = request<WorkerFile, FileText>("eagleray/sourceMapping/workerFile");

/** The mappings of one cluster, in the order in which they are tried. */
export interface Mappings {
  readonly cluster: string;
  readonly mappings: readonly PathMapping[];
}

/** The user's own mappings (setting `eagleray.pathMappings`): cluster id, or "*" for every cluster. */
export interface Configure {
  readonly mappings: Readonly<Record<string, readonly PathMapping[]>>;
}

/** A cluster by its id. */
export interface ClusterOf {
  readonly cluster: string;
}

/** Resolves the local file of the location at which an attached worker stopped. */
export interface Resolve {
  readonly cluster: string;
  readonly worker_id: string;
  readonly path: string;
  readonly workspace_folders: readonly string[];
}

/**
 * The local file of a worker's file, and the rule that decided.
 *
 * `how` is the rule: "setting", "mounts", "same-path", "working-dir", "suffix", or "none". "ask" means that several
 * local files fit or none does: put the one question to the user, whose answer is a SetFolder.  "none": there is
 * nothing to ask; `local` is "" (show the worker's own file) or Ray's copy of an uploaded package on this machine.
 * `candidates` are local files that fit.
 */
export interface Resolution {
  readonly how: "same-path" | "setting" | "mounts" | "working-dir" | "suffix" | "ask" | "none";
  readonly local: string;
  readonly candidates: readonly string[];
}

/**
 * The user's answer: the folder `remote` of the worker is `local`; applied to attached workers at once.
 *
 * `remote` may be a file (….py): then `local` is that file or a folder that holds it at any depth, and the folders that
 * correspond are worked out.
 */
export interface SetFolder {
  readonly cluster: string;
  readonly remote: string;
  readonly local: string;
}

/** A file of an attached worker, by the path that the worker uses; `local` the file that it is taken for. */
export interface WorkerFile {
  readonly cluster: string;
  readonly worker_id: string;
  readonly path: string;
  readonly local: string;
}

/** The worker's file against the local one, by hash. */
export interface Comparison {
  readonly verdict: "same" | "different" | "only-worker" | "only-local" | "unknown";
}

/** The worker's version of a file. */
export interface FileText {
  readonly text: string;
  readonly truncated: boolean;
}

/** `remote` (a folder or file of the worker) is `local`. */
export interface PathMapping {
  readonly remote: string;
  readonly local: string;
}
