/** The catalogue of errors in the editor: code, what happened, what to do next. */

/** An error of the catalogue, from the sidecar or about the sidecar itself. */
export class EaglerayError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly nextStep = "",
    readonly detail = "",
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
    "Eagleray’s sidecar ended before it answered.",
    "It is started again by itself; try again.",
  );
}

export function sidecarNotStarted(detail: string): EaglerayError {
  return new EaglerayError(
    "sidecar-not-started",
    "Eagleray’s sidecar could not be started.",
    "The log says why; “Restart” tries again.",
    detail,
  );
}

export function sidecarSilent(seconds: number, detail: string): EaglerayError {
  return new EaglerayError(
    "sidecar-silent",
    `Eagleray’s sidecar did not answer within ${seconds} s.`,
    "“Restart” tries again; “Select Python” takes another Python, should this one hang.",
    detail,
  );
}

export function noPython(detail: string): EaglerayError {
  return new EaglerayError(
    "no-python",
    "Eagleray found no Python (3.10 to 3.14) that it can use.",
    "Choose one with “Select Python”; the log says why each candidate was passed over.",
    detail,
  );
}

export function unsupportedPlatform(): EaglerayError {
  return new EaglerayError(
    "unsupported-platform",
    "Eagleray does not run on Windows itself.",
    "Open the folder on the Linux machine where you work with Ray, with Remote-SSH or WSL.",
  );
}

export function adapterLost(): EaglerayError {
  return new EaglerayError(
    "adapter-lost",
    "Eagleray’s debug adapter ended; the workers that it held have run on.",
    "They are listed again when they reach their next breakpoint().",
  );
}

export function adapterLetGo(worker: string): EaglerayError {
  return new EaglerayError(
    "adapter-let-go",
    `${worker} had ended, or was let go of, before its session began.`,
    "Attach again when it is listed as paused.",
  );
}

export function noCluster(): EaglerayError {
  return new EaglerayError(
    "no-cluster",
    "There is no cluster that this could be done with.",
    "Start one, or add one with “Connect to Cluster…”.",
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
    `${failed.length} of ${total} failed.`,
    failed.map(([name, { sentence }]) => `${name}: ${sentence}`).join(" "),
    errors.map(({ code, detail }) => `${code} ${detail}`.trim()).join("\n"),
  );
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
    "Something in Eagleray went wrong.",
    "“Show Log” has the details; a report of them helps us mend it.",
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
