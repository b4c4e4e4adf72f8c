/** The catalogue of errors in the editor: code, what happened, what to do next. */

import { l10n } from "vscode";

/** An error of the catalogue, from the sidecar or about the sidecar itself. */
export class EaglerayError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly nextStep = "",
    readonly detail = "",
    /** The output of a program such as ssh or sbatch, on several lines; never part of the texts. */
    readonly output = "",
    /** The part that the doctor diagnoses; "" for an error that says all itself. */
    readonly doctor = "",
  ) {
    super(message);
    this.name = "EaglerayError";
  }

  get sentence(): string {
    return `${this.message} ${this.nextStep}`.trim();
  }
}

export function sidecarLost(): EaglerayError {
  return new EaglerayError(
    "sidecar-lost",
    l10n.t("Eagleray’s background service stopped before it answered."),
    l10n.t("It restarts automatically. Try again."),
  );
}

export function sidecarNotStarted(detail: string): EaglerayError {
  return new EaglerayError(
    "sidecar-not-started",
    l10n.t("Eagleray’s background service could not be started."),
    l10n.t("The log has the reason."),
    detail,
  );
}

export function sidecarSilent(seconds: number, detail: string): EaglerayError {
  return new EaglerayError(
    "sidecar-silent",
    l10n.t("Eagleray’s background service did not answer within {0} s.", seconds),
    l10n.t("Restart it, or select another Python if this one hangs."),
    detail,
  );
}

export function noPython(detail: string): EaglerayError {
  return new EaglerayError(
    "no-python",
    l10n.t("Eagleray needs Python 3.10–3.14. None was found."),
    l10n.t("Select one. The log lists the Pythons that were tried."),
    detail,
  );
}

export function unsupportedPlatform(): EaglerayError {
  return new EaglerayError(
    "unsupported-platform",
    l10n.t("Eagleray runs on Linux."),
    l10n.t("Connect with Remote-SSH or WSL, then open your folder there."),
  );
}

export function adapterLost(): EaglerayError {
  return new EaglerayError(
    "adapter-lost",
    l10n.t("Eagleray’s debug adapter stopped. The workers that it held have resumed."),
    l10n.t("They are listed again at their next breakpoint()."),
  );
}

export function adapterLetGo(worker: string): EaglerayError {
  return new EaglerayError(
    "adapter-let-go",
    l10n.t("{0} exited or was detached before its session began.", worker),
    l10n.t("Attach again when it is listed as paused."),
  );
}

export function noCluster(): EaglerayError {
  return new EaglerayError(
    "no-cluster",
    l10n.t("You have no cluster yet."),
    l10n.t("Start one, or connect to one with “Connect to Cluster…”."),
    "",
    "",
    "machine",
  );
}

/** `failed` of `total` items failed; a reason that all of them share is reported once. */
export function someFailed(
  failed: readonly (readonly [name: string, error: EaglerayError])[],
  total: number,
): EaglerayError {
  const errors = failed.map(([, error]) => error);
  const [first] = errors;
  const isOne =
    failed.length === total && new Set(errors.map((error) => error.sentence)).size === 1;
  if (first !== undefined && isOne) {
    return first;
  }
  return new EaglerayError(
    "some-failed",
    l10n.t("{0} of {1} failed.", failed.length, total),
    failed.map(([name, { sentence }]) => `${name}: ${sentence}`).join(" "),
    errors.map(({ code, detail }) => `${code} ${detail}`.trim()).join("\n"),
    [...new Set(errors.map(({ output }) => output))].filter((output) => output !== "").join("\n"),
    errors.find(({ doctor }) => doctor !== "")?.doctor,
  );
}

/** Whether ssh has failed, on this machine or behind a login node. */
export function isSshError(code: string): boolean {
  return code.startsWith("ssh-") || code.startsWith("far-");
}

/** Whether `error` is a cancellation by the user. */
export function isCancellation(error: unknown): boolean {
  return error instanceof EaglerayError && error.code === "cancelled";
}

/** Any error as one of the catalogue; what is not of it is an internal one. */
export function asEaglerayError(error: unknown): EaglerayError {
  if (error instanceof EaglerayError) {
    return error;
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new EaglerayError(
    "internal",
    l10n.t("Something went wrong in Eagleray."),
    l10n.t("The log has the details. Please report them."),
    detail,
  );
}

/**
 * Calls `work` for each item in turn.  Failures become one error after the last item; a cancellation skips the rest.
 */
export async function withEach<T>(
  things: readonly T[],
  nameOf: (thing: T) => string,
  work: (thing: T) => Promise<unknown>,
): Promise<void> {
  const failed: [name: string, error: EaglerayError][] = [];
  for (const thing of things) {
    try {
      await work(thing);
    } catch (error) {
      if (isCancellation(error)) {
        break;
      }
      failed.push([nameOf(thing), asEaglerayError(error)]);
    }
  }
  if (failed.length > 0) {
    throw someFailed(failed, things.length);
  }
}
