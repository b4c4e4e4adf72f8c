/** The messages between the editor and the page of a diagnosis. */

import type { Stored, ToPage } from "../page/page_messages";
import type { Diagnosis, DiagnosisTarget } from "./messages";

/** The state that the page stores. */
export type StoredDiagnosis = Stored<{
  readonly name: string;
  readonly target: DiagnosisTarget;
  readonly madeAt: number;
  readonly diagnosis: Diagnosis;
}>;

export type ToDiagnosisPage =
  | ToPage
  /** `from` says of what and when it was made. */
  | { readonly kind: "diagnosis"; readonly stored: StoredDiagnosis; readonly from: string }
  /** Whether the cluster of the diagnosis is watched; null for logs that can't be. */
  | { readonly kind: "watching"; readonly isOn: boolean | null };

export type FromDiagnosisPage =
  | { readonly kind: "ready" | "again" }
  | { readonly kind: "open"; readonly path: string; readonly line: number }
  /** The settings of the cause with this ID are applied to a run. */
  | { readonly kind: "fix"; readonly id: string }
  | { readonly kind: "watch"; readonly isOn: boolean }
  | { readonly kind: "copy"; readonly text: string };
