/** The messages between the editor and the page of a wave. */

import type { WaveProgress, WaveReport } from "./messages";

export type ToWavePage =
  /** The first message; `title` names the agent, `from` the data and the server. */
  | { readonly kind: "wave"; readonly title: string; readonly from: string }
  /** `isRunning`: it can be cancelled. */
  | { readonly kind: "progress"; readonly progress: WaveProgress; readonly isRunning: boolean }
  | { readonly kind: "report"; readonly report: WaveReport }
  | { readonly kind: "failed"; readonly message: string; readonly nextStep: string };

export type FromWavePage =
  | { readonly kind: "ready" | "cancel" | "again" }
  | { readonly kind: "source"; readonly path: string; readonly line: number }
  | { readonly kind: "trace"; readonly trace: number }
  | { readonly kind: "debug"; readonly item: number };
