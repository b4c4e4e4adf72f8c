/** Reads answers of the sidecar: reports of progress, and errors of the catalogue. */

import { asEaglerayError, EaglerayError, sidecarLost } from "../common/errors";
import type { Progress } from "./sidecar";

/** A `$/progress` value of LSP as a report; undefined at the end. */
export function progressOf(value: unknown): Progress | undefined {
  const { kind, title, message, percentage } = value as {
    kind: string;
    title?: string;
    message?: string;
    percentage?: number;
  };
  return kind === "end" ? undefined : { message: message ?? title, percentage };
}

/** LSP's RequestCancelled. */
const REQUEST_CANCELLED = -32800;
/** vscode-jsonrpc's own: the connection went before the answer came, or was gone already. */
const CONNECTION_GONE = [-32097, -32096, -32098, -32099];

/** The rejection of a request to the sidecar, as an error of the catalogue. */
export function answerError(error: unknown): EaglerayError {
  const { code: answered, data } = (error ?? {}) as { code?: unknown; data?: unknown };
  if (isCatalogued(data)) {
    const { code, message, next_step, output, doctor } = data;
    return new EaglerayError(code, message, next_step, "", output, doctor);
  }
  if (answered === REQUEST_CANCELLED) {
    return new EaglerayError("cancelled", "Cancelled.");
  }
  const gone = typeof answered === "number" && CONNECTION_GONE.includes(answered);
  if (gone || (error instanceof Error && /connection is (closed|disposed)/i.test(error.message))) {
    return sidecarLost();
  }
  return asEaglerayError(error);
}

function isCatalogued(data: unknown): data is {
  code: string;
  message: string;
  next_step?: string;
  output?: string;
  doctor?: string;
} {
  const value = data as { code?: unknown; message?: unknown } | null | undefined;
  return typeof value?.code === "string" && typeof value.message === "string";
}
