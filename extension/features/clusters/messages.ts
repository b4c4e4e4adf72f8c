// Printed from pybackend/eagleray/features/clusters/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../../common/wire";

export const LIST = request<Nothing, Clusters>("eagleray/clusters/list");
export const ADD = request<AddCluster, Cluster>("eagleray/clusters/add");
export const REMOVE = request<ClusterRef, Nothing>("eagleray/clusters/remove");
export const SET_TOKEN = request<SetToken, Cluster>("eagleray/clusters/setToken");
export const REFRESH = request<Nothing, Clusters>("eagleray/clusters/refresh");
export const ID_OF = request<ClusterRef, ClusterRef>("eagleray/clusters/idOf");
export const CHANGED = notification<Clusters>("eagleray/clusters/changed");

/** Something that stands in the way of a cluster, with what to do about it. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly next_step: string;
}

/**
 * A Ray cluster as the panel shows it.
 *
 * `id` is the address of its dashboard, normalised (`http://host:port`).  `sentence` says what we
 * see ("Ray 2.60.0, 6 workers, none paused").  `session` is Ray's session name, or "" before the
 * first answer; all that we remember of a cluster is keyed by it.
 */
export interface Cluster {
  readonly id: string;
  readonly name: string;
  readonly origin: "own" | "added";
  readonly state: "connecting" | "connected" | "unreachable" | "unauthorized" | "not-ray" | "failing";
  readonly session: string;
  readonly ray_version: string;
  readonly sentence: string;
  readonly problems: readonly Problem[];
}

/** All known clusters; `hints` say why there is none, or what was seen and left alone. */
export interface Clusters {
  readonly clusters: readonly Cluster[];
  readonly hints: readonly Problem[];
}

/** `address`: `8265`, `host:8265`, `http(s)://…`; `token` only if the person typed one in. */
export interface AddCluster {
  readonly address: string;
  readonly token?: string | null;
}

/** A cluster by its id. */
export interface ClusterRef {
  readonly cluster: string;
}

/**
 * A token that the person typed in; the editor keeps it (SecretStorage), the sidecar only in
 * memory.
 */
export interface SetToken {
  readonly cluster: string;
  readonly token: string;
}
