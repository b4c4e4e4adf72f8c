/** The compared texts of a preset: the command as it is, and with the changes. */

import { createHash } from "node:crypto";

import { l10n } from "vscode";

import { plain } from "../../common/texts";
import type { Draft } from "../draft";
import type { Proposal } from "./messages";

/** Identifies what the user agrees to by a hash, since the draft may hold secrets: the values of changes do not count. */
export function agreementOf(draft: Draft, { before, changes }: Proposal): string {
  const agreed = JSON.stringify([draft, before, changes.map((change) => change.outcome)]);
  return createHash("sha256").update(agreed).digest("hex");
}

/** Both texts below the same head: the text that a dry run in a terminal prints. */
export function reviewTexts(proposal: Proposal): {
  readonly before: string;
  readonly after: string;
} {
  const { before, after, text } = proposal;
  const head = [
    `# ${frameworkText(proposal)}. ${l10n.t("Nothing has been started.")}`,
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

function frameworkText({ framework, framework_version: version }: Proposal): string {
  return framework === "" ? l10n.t("No framework") : `${framework} ${version}`.trim();
}
