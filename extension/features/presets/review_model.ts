/** The review of a proposal: the head of the compared texts, and the lines of the picker. */

import { createHash } from "node:crypto";

import { EaglerayError, isCancellation } from "../../common/errors";
import { count, plain } from "../../common/texts";
import type { Draft } from "../runs/draft";
import type { Change, Composition, Proposal } from "./messages";

/** Identifies what the user agrees to by a hash, since the draft may hold secrets: the values of changes do not count. */
export function agreementOf(draft: Draft, { before, changes }: Proposal): string {
  const agreed = JSON.stringify([draft, before, changes.map((change) => change.outcome)]);
  return createHash("sha256").update(agreed).digest("hex");
}

export type ReviewAnswer = "start" | "check" | "back" | "save" | "cancel";

/** The result of composing the configuration: the `values`, or an `error` with its next step. */
export interface ConfigurationCheck {
  readonly values: Composition["values"];
  readonly error: string;
  readonly nextStep: string;
}

export interface ReviewLine {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  readonly icon: string;
  readonly isTitle: boolean;
  readonly answer?: ReviewAnswer;
}

/** In the order in which they are shown. */
const OUTCOMES: readonly (readonly [Change["outcome"], string, string])[] = [
  ["unknown version", "Unknown version", "circle-slash"],
  ["no framework", "No framework", "circle-slash"],
  ["will apply", "Will apply", "check"],
  ["set, effect not verified", "Set, effect not verified", "question"],
  ["not changed", "Not changed", "circle-slash"],
  ["no such option", "No such option", "circle-slash"],
  ["already so", "Already so", "circle-large-outline"],
];

/** Outcomes that the list of answers counts and doesn't name. */
const EXPECTED: ReadonlySet<Change["outcome"]> = new Set(["will apply", "already so"]);

const CHECKS = "runs the program's imports with its own Python; starts nothing";

/** The list above the texts covers their first lines, which say nothing else. */
const COVERED = ["", "", "", "", "", "", "", ""];

/** Both texts below the same head: the text that a dry run in a terminal prints. */
export function reviewTexts(proposal: Proposal): {
  readonly before: string;
  readonly after: string;
} {
  const { before, after, text } = proposal;
  const head = [
    ...COVERED,
    `# ${frameworkText(proposal)}; nothing has been started`,
    "",
    ...text.map(commented),
    "",
    "",
  ].join("\n");
  return { before: head + before, after: head + after };
}

/** Its columns stay below one another. */
function commented(line: string): string {
  const indent = line.length - line.trimStart().length;
  return `# ${" ".repeat(indent)}${plain(line, 300)}`.trimEnd();
}

/** The answers, the result of a check, then problems and changes; only a trusted workspace offers the check. */
export function reviewLines(
  proposal: Proposal,
  isTrusted: boolean,
  check?: ConfigurationCheck,
): ReviewLine[] {
  const { changes, framework, problems } = proposal;
  const canCheck = isTrusted && framework !== "";
  return [
    answer("Start", "play", "start", `${plain(frameworkText(proposal))} · ${tally(changes)}`),
    ...(canCheck ? [answer("Check Configuration", "checklist", "check", CHECKS)] : []),
    answer("Change…", "settings", "back", "back to the form"),
    answer("Save as Preset…", "save", "save", "with the answers of the form"),
    answer("Cancel", "close", "cancel", "nothing is started"),
    ...(check === undefined ? [] : checkLines(check)),
    ...problems.map(({ message, next_step }) => ({
      ...line(plain(message, 300), "", plain(next_step, 300)),
      icon: "warning",
    })),
    ...OUTCOMES.filter(([outcome]) => !EXPECTED.has(outcome)).flatMap(([outcome, title, icon]) =>
      section(changes, outcome, title, icon),
    ),
  ];
}

function frameworkText({ framework, framework_version: version }: Proposal): string {
  return framework === "" ? "no framework recognised" : `${framework} ${version}`.trim();
}

/** "1 not changed · 7 will apply". */
function tally(changes: readonly Change[]): string {
  const numbers = OUTCOMES.map(([outcome, title]) => {
    const number = changes.filter((change) => change.outcome === outcome).length;
    return number === 0 ? "" : `${number} ${title.toLowerCase()}`;
  }).filter((text) => text !== "");
  return numbers.length === 0 ? count(0, "change") : numbers.join(" · ");
}

function section(
  changes: readonly Change[],
  outcome: Change["outcome"],
  title: string,
  icon: string,
): ReviewLine[] {
  const own = changes.filter((change) => change.outcome === outcome);
  if (own.length === 0) {
    return [];
  }
  const rows = own.map((change) => ({
    ...line(
      plain(change.request, 300),
      plain(change.setting || change.where),
      plain(change.why, 300),
    ),
    icon,
  }));
  return [{ ...line(title, "", ""), isTitle: true }, ...rows];
}

function checkLines({ values, error, nextStep }: ConfigurationCheck): ReviewLine[] {
  if (error !== "") {
    return [{ ...line(plain(error, 700), "", plain(nextStep, 300)), icon: "error" }];
  }
  const rows = Object.entries(values).map(([key, value]) => ({
    ...line(plain(key), plain(value), ""),
    icon: "symbol-property",
  }));
  const title = rows.length > 0 ? "Composed configuration" : "The configuration can be composed";
  return [{ ...line(title, "", ""), isTitle: true }, ...rows];
}

function answer(label: string, icon: string, given: ReviewAnswer, description: string): ReviewLine {
  return { ...line(label, description, ""), icon, answer: given };
}

function line(label: string, description: string, detail: string): ReviewLine {
  return { label, description, detail, icon: "", isTitle: false };
}

/** The values that `compose` returns, or its error; `previous` if the user cancels. */
export async function checkConfiguration(
  compose: () => Promise<Composition>,
  previous: ConfigurationCheck | undefined,
): Promise<ConfigurationCheck | undefined> {
  try {
    const { values } = await compose();
    return { values, error: "", nextStep: "" };
  } catch (error) {
    if (isCancellation(error)) {
      return previous;
    }
    if (!(error instanceof EaglerayError)) {
      throw error;
    }
    return { values: {}, error: error.message, nextStep: error.nextStep };
  }
}
