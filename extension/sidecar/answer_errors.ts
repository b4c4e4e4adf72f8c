/** Errors of JSON-RPC as errors of the catalogue: the one place where they are told apart. */

import { asEaglerayError, EaglerayError, sidecarLost } from "../common/errors";

/** LSP's RequestCancelled. */
const REQUEST_CANCELLED = -32800;
/** vscode-jsonrpc's own: the connection went before the answer came, or was gone already. */
const CONNECTION_GONE = [-32097, -32096, -32098, -32099];

/** What a request to the sidecar rejected with, as one of the catalogue. */
export function answerError(error: unknown): EaglerayError {
  const { code, data } = (error ?? {}) as { code?: unknown; data?: unknown };
  if (isCatalogued(data)) {
    return new EaglerayError(data.code, data.message, data.next_step ?? "");
  }
  if (code === REQUEST_CANCELLED) {
    return new EaglerayError("cancelled", "Cancelled.");
  }
  const gone = typeof code === "number" && CONNECTION_GONE.includes(code);
  if (gone || (error instanceof Error && /connection is (closed|disposed)/i.test(error.message))) {
    return sidecarLost();
  }
  return asEaglerayError(error);
}

function isCatalogued(
  data: unknown,
): data is { code: string; message: string; next_step?: string } {
  const value = data as { code?: unknown; message?: unknown } | null | undefined;
  return typeof value?.code === "string" && typeof value.message === "string";
}
