// Printed from pybackend/eagleray/rollouts/servers/messages.py by `npm run messages`; do not edit.
import { request, type Nothing } from "../../common/wire";

export const LIST = request<Nothing, ListedServers>("eagleray/inference/list");
export const START = request<StartServer, StartedServer>("eagleray/inference/start");
export const ADD = request<AddServer, ListedServer>("eagleray/inference/add");
export const REMOVE = request<ServerName, Nothing>("eagleray/inference/remove");
export const VARIABLES = request<ServerName, ServerVariables>("eagleray/inference/variables");

/** A server without its key; `run` is "" for an address that was added; `reason`: why it isn't ready. */
export interface ListedServer {
  readonly name: string;
  readonly state: "starting" | "ready" | "unhealthy" | "stopping" | "stopped" | "failed";
  readonly url: string;
  readonly model: string;
  readonly run: string;
  readonly reason: string;
}

/** All servers, the newest first. */
export interface ListedServers {
  readonly servers: readonly ListedServer[];
}

/** `command` is a line as it is typed in a shell; `confirmed`: a script may be submitted to SLURM. */
export interface StartServer {
  readonly cwd: string;
  readonly cluster?: string;
  readonly python?: string;
  readonly workspace?: string;
  readonly name?: string;
  readonly host?: string;
  readonly slurm?: string;
  readonly command: string;
  readonly confirmed?: boolean;
}

/** Its run and name; it may still be starting. */
export interface StartedServer {
  readonly run: string;
  readonly name: string;
}

/** An address at which a server already runs, and its key, "" for none. */
export interface AddServer {
  readonly url: string;
  readonly key?: string;
}

/** A server by its name. */
export interface ServerName {
  readonly name: string;
}

/** The variables by which programs use a server, its key among them: never for a view. */
export interface ServerVariables {
  readonly variables: Readonly<Record<string, string>>;
}
