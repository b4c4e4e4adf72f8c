/** Names for what the sidecar sends as short words. */

import { l10n } from "../../../page/frame/l10n";

export const KINDS = {
  "cleanup-deadlock": l10n.t("Deadlock while cleaning up"),
  "exception-in-flight": l10n.t("Exception in flight"),
  "collective-mismatch": l10n.t("Different collectives"),
  "wrong-process-group": l10n.t("Different process groups"),
  straggler: l10n.t("Straggler"),
  transport: l10n.t("Network or GPU"),
  "rank-dead": l10n.t("Rank has ended"),
  deadlock: l10n.t("Deadlock"),
  "wait-chain": l10n.t("Waits"),
  "data-loader": l10n.t("Data loader"),
  "ray-get-cycle": l10n.t("Cycle of ray.get"),
  starvation: l10n.t("Resources missing"),
  "gil-held": l10n.t("GIL held"),
  asyncio: l10n.t("Event loop waits"),
  initialization: l10n.t("Initialization"),
  "pipeline-mismatch": l10n.t("Messages that don't match"),
  stopped: l10n.t("Stopped by a signal"),
  debugger: l10n.t("Paused by a debugger"),
  slow: l10n.t("Slow, not stuck"),
  unknown: l10n.t("Unknown"),
} as Readonly<Record<string, string>>;

export const DOING = {
  ended: l10n.t("has ended"),
  debugger: l10n.t("waits in a debugger"),
  stopped: l10n.t("is stopped"),
  unreadable: l10n.t("not sampled"),
  initializing: l10n.t("initializes"),
  "loading data": l10n.t("loads data"),
  "tearing down": l10n.t("cleans up"),
  collective: l10n.t("waits in a collective"),
  "ray.get": l10n.t("waits in ray.get"),
  "event loop": l10n.t("waits in an event loop"),
  kernel: l10n.t("waits in the kernel"),
  code: l10n.t("in Python code"),
} as Readonly<Record<string, string>>;

export const ROLES = {
  rank: l10n.t("rank"),
  actor: l10n.t("actor"),
  driver: l10n.t("driver"),
  "data loader": l10n.t("data loader"),
  engine: l10n.t("engine"),
  process: l10n.t("process"),
} as Readonly<Record<string, string>>;

export const STATES = {
  R: l10n.t("running"),
  S: l10n.t("sleeping"),
  D: l10n.t("waiting for a device"),
  T: l10n.t("stopped"),
  t: l10n.t("traced"),
  Z: l10n.t("ended"),
  X: l10n.t("ended"),
  I: l10n.t("idle"),
} as Readonly<Record<string, string>>;

export const REASONS = {
  ended: l10n.t("has ended"),
  "not-found": l10n.t("no process found"),
  permission: l10n.t("reading it isn’t allowed"),
  timeout: l10n.t("no answer in time"),
  "no-tool": l10n.t("py-spy is missing"),
  "main-only": l10n.t("only the main thread was read"),
  resumed: l10n.t("left stopped by py-spy, then resumed by SIGCONT"),
  "not-python": l10n.t("not a Python process"),
  "files-deleted": l10n.t("its Python was removed or replaced"),
  seccomp: l10n.t("its sandbox (seccomp) may end it"),
  limits: l10n.t("it is close to a limit of its own"),
  "ended-meanwhile": l10n.t("has ended while it was asked"),
  failed: l10n.t("sampling failed"),
  stopped: l10n.t("stopped"),
  "gil-held": l10n.t("native code holds the GIL"),
  cut: l10n.t("a part, since there is too much"),
  busy: l10n.t("all threads run native code"),
  "no-answer": l10n.t("no answer"),
} as Readonly<Record<string, string>>;
