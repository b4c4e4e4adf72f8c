// Printed from pybackend/eagleray/features/inference/messages.py by `npm run messages`; do not edit.
import { request, type Nothing } from "../../common/wire";

export const LIST = request<Nothing, ListedServers>("eagleray/inference/list");
export const START = request<StartServer, StartedServer>("eagleray/inference/start");
export const VARIABLES = request<ServerName, ServerVariables>("eagleray/inference/variables");

/** A server without its key; `run` is "" for an address that was added. */
export interface ListedServer {
  readonly name: string;
  readonly state: "starting" | "ready" | "unhealthy" | "stopping" | "stopped" | "failed";
  readonly url: string;
  readonly model: string;
  readonly run: string;
}

/** All servers, the newest first. */
export interface ListedServers {
  readonly servers: readonly ListedServer[];
}

/** `command` is a line as it is typed in a shell; `name` "" is that of the engine. */
export interface StartServer {
  readonly command: string;
  readonly cwd: string;
  readonly name?: string;
  readonly python?: string;
  readonly workspace?: string;
}

/** Its run and name; it may still be starting. */
export interface StartedServer {
  readonly run: string;
  readonly name: string;
}

/** A server by its name. */
export interface ServerName {
  readonly name: string;
}

/** The variables by which programs use a server, its key among them: never for a view. */
export interface ServerVariables {
  readonly variables: Readonly<Record<string, string>>;
}
