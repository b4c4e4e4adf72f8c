/** The messages between the editor and the page of a diagnosis. */

import type { DiagnosisTexts } from "./diagnosis_texts";
import type { Diagnosis, DiagnosisTarget } from "./messages";

/** What the page stores, so that a reload of the window restores it; `version` is that of the extension. */
export interface StoredDiagnosis {
  readonly version: string;
  readonly name: string;
  readonly target: DiagnosisTarget;
  readonly madeAt: number;
  readonly diagnosis: Diagnosis;
}

export type ToDiagnosisPage =
  /** The first message. */
  | { readonly kind: "texts"; readonly texts: DiagnosisTexts }
  /** `from` says of what and when it was made. */
  | { readonly kind: "diagnosis"; readonly stored: StoredDiagnosis; readonly from: string }
  /** The logs are being read again, or no longer. */
  | { readonly kind: "reading"; readonly isOn: boolean }
  /** Whether the cluster of the diagnosis is watched; null for logs that can't be. */
  | { readonly kind: "watching"; readonly isOn: boolean | null }
  /** Something that a screen reader should say. */
  | { readonly kind: "announcement"; readonly sentence: string };

export type FromDiagnosisPage =
  | { readonly kind: "ready" | "again" }
  | { readonly kind: "open"; readonly path: string; readonly line: number }
  /** The settings of the cause with this ID are applied to a run. */
  | { readonly kind: "fix"; readonly id: string }
  | { readonly kind: "watch"; readonly isOn: boolean }
  | { readonly kind: "copy"; readonly text: string };
