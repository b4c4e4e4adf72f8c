/** Which colour a token has: by its mask, probability, version or advantage, or the difference to the trainer. */

import { l10n } from "../../page/frame/l10n";
import type { TokenColumns } from "../messages";

export type ColourMode = "mask" | "logprob" | "difference" | "version" | "advantage";

/** A colour by its number, and what it means. */
export interface LegendEntry {
  readonly colour: number;
  readonly text: string;
}

/** Probabilities and differences of logprobs up to which each colour goes. */
const PROBABILITIES = [0.9, 0.5, 0.1, 0.01];
const DIFFERENCES = [0.01, 0.05, 0.2, 1];
/** More versions than these share colours. */
export const VERSION_COLOURS = 6;

/** The modes that the columns allow. */
export function modesOf(columns: TokenColumns): ColourMode[] {
  const { mask, logprobs, trainer_logprobs, versions, advantages } = columns;
  const modes: [ColourMode, boolean][] = [
    ["mask", mask.length > 0],
    ["logprob", logprobs.length > 0],
    ["difference", logprobs.length > 0 && trainer_logprobs.length > 0],
    ["version", versions.length > 0],
    ["advantage", advantages.length > 0],
  ];
  return modes.filter(([, exists]) => exists).map(([mode]) => mode);
}

/** How many tokens the columns have. */
export function tokenCount({ ids, texts, mask, logprobs }: TokenColumns): number {
  return Math.max(ids.length, texts.length, mask.length, logprobs.length);
}

/** The number of the colour of each token; -1 for none, such as the probability of a prompt. */
export function coloursOf(columns: TokenColumns, mode: ColourMode): number[] {
  const versions = versionsOf(columns);
  return Array.from({ length: tokenCount(columns) }, (_, at) => {
    const isPrompt = columns.mask[at] === 0;
    switch (mode) {
      case "mask":
        return isPrompt ? 1 : 0;
      case "logprob":
        return isPrompt ? -1 : probabilityColour(columns.logprobs[at]);
      case "difference":
        return isPrompt ? -1 : differenceColour(columns.logprobs[at], columns.trainer_logprobs[at]);
      case "version": {
        const version = columns.versions[at] ?? -1;
        return version < 0 ? -1 : versions.indexOf(version) % VERSION_COLOURS;
      }
      case "advantage":
        return isPrompt ? -1 : advantageColour(columns.advantages[at]);
    }
  });
}

export function legendOf(columns: TokenColumns, mode: ColourMode): LegendEntry[] {
  switch (mode) {
    case "mask":
      return [l10n.t("trained"), l10n.t("not trained")].map((text, colour) => ({ colour, text }));
    case "logprob":
      return [...PROBABILITIES.map((least) => `≥ ${least}`), `< ${PROBABILITIES.at(-1) ?? 0}`].map(
        (text, colour) => ({ colour, text }),
      );
    case "difference":
      return [...DIFFERENCES.map((most) => `< ${most}`), `≥ ${DIFFERENCES.at(-1) ?? 0}`].map(
        (text, colour) => ({ colour, text }),
      );
    case "version":
      return versionsOf(columns).map((version, at) => ({
        colour: at % VERSION_COLOURS,
        text: l10n.t("version {0}", version),
      }));
    case "advantage":
      return [l10n.t("positive"), l10n.t("zero"), l10n.t("negative")].map((text, colour) => ({
        colour,
        text,
      }));
  }
}

/** "token 42 · logprob -0.5 · version 7". */
export function tokenTitle(columns: TokenColumns, at: number): string {
  const part = (value: Value, text: (value: number) => string): string[] =>
    value === null || value === undefined ? [] : [text(rounded(value))];
  return [
    ...part(columns.ids[at], (id) => l10n.t("token {0}", id)),
    ...part(columns.logprobs[at], (logprob) => l10n.t("logprob {0}", logprob)),
    ...part(columns.trainer_logprobs[at], (logprob) => l10n.t("trainer's logprob {0}", logprob)),
    ...part(columns.versions[at], (version) => l10n.t("version {0}", version)),
    ...part(columns.advantages[at], (advantage) => l10n.t("advantage {0}", advantage)),
  ].join(" · ");
}

/** Six digits, as far as they say something. */
export function rounded(value: number): number {
  return Number(value.toPrecision(6));
}

function versionsOf({ versions }: TokenColumns): number[] {
  return [...new Set(versions)].filter((version) => version >= 0).sort((a, b) => a - b);
}

/** A column may be shorter than the ids, and have gaps. */
type Value = number | null | undefined;

function probabilityColour(logprob: Value): number {
  if (logprob === null || logprob === undefined) {
    return -1;
  }
  const index = PROBABILITIES.findIndex((least) => Math.exp(logprob) >= least);
  return index < 0 ? PROBABILITIES.length : index;
}

function differenceColour(rollout: Value, trainer: Value): number {
  const difference = Math.abs((rollout ?? NaN) - (trainer ?? NaN));
  if (Number.isNaN(difference)) {
    return -1;
  }
  const index = DIFFERENCES.findIndex((most) => difference < most);
  return index < 0 ? DIFFERENCES.length : index;
}

function advantageColour(advantage: Value): number {
  return advantage === null || advantage === undefined ? -1 : 1 - Math.sign(advantage);
}
