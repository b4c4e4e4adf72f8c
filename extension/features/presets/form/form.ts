/** The form of a run: asks for one choice after another until the user starts the run. */

import * as vscode from "vscode";

import type { App } from "../../../app";
import { windowName } from "../../../workspace";
import { WORKERS, type ClassMatch } from "../../profiling/messages";
import { NO_PRESET, type Draft } from "../../runs/draft";
import { LIST_PRESETS, type PresetRow, type Proposal } from "../messages";
import { askChoice } from "./boxes";
import { formHint, formLines, missingChoice, type FormField, type FormLine } from "./lines";
import { mergedClasses, type ClassPreview } from "./worker_patterns";

/** A change of one of these requests the preset and its questions again. */
const MATTER_TO_PRESETS: readonly FormField["field"][] = ["args", "kind", "cluster", "preset"];

export class RunForm {
  private proposal: Proposal | undefined;
  private presets: readonly PresetRow[] = [];

  /** `prepare` returns the proposal; only the questions of a preset need it. */
  constructor(
    private readonly app: App,
    private readonly title: string,
    private readonly prepare: (draft: Draft) => Promise<Proposal>,
  ) {}

  /** The draft to start; undefined when the user closes the form. */
  async fill(given: Draft): Promise<Draft | undefined> {
    const workspace = windowName();
    this.presets = (await this.app.sidecar.request(LIST_PRESETS, { workspace })).presets;
    let draft = await this.withPreset(given);
    // What is lacking is chosen first, and then Enter starts.
    let wanted: (line: FormLine) => boolean = isFor(missingChoice(draft) ?? "start");
    for (;;) {
      const view = {
        clusters: this.app.clusters.value,
        presets: this.presets,
        questions: this.proposal?.questions ?? [],
      };
      const lines = formLines(draft, view);
      // Lines may have come and gone meanwhile.
      const at = Math.max(lines.findIndex(wanted), 0);
      const chosen = await pickLine(this.title, formHint(draft), lines, at);
      if (chosen === undefined || chosen.about.field === "start") {
        return chosen && draft;
      }
      const lacked = missingChoice(draft);
      const changed = await askChoice(chosen.about, draft, view, this.previewIn(draft.cluster));
      const matters = changed !== draft && MATTER_TO_PRESETS.includes(chosen.about.field);
      draft = matters ? await this.withPreset(changed) : changed;
      const isWhole = lacked !== undefined && missingChoice(draft) === undefined;
      wanted = isWhole ? isFor("start") : ({ label }): boolean => label === chosen.label;
    }
  }

  /**
   * Which classes patterns match in a cluster; for a program that runs here, in all that are known, and without
   * any in earlier runs.
   */
  private previewIn(cluster: string): ClassPreview {
    const clusters = this.app.clusters.value.clusters.map(({ id }) => id);
    const selected = cluster !== "" || clusters.length === 0 ? [cluster] : clusters;
    return async (patterns) =>
      mergedClasses(await Promise.all(selected.map((id) => this.classesIn(id, patterns))));
  }

  /** Without a list the patterns stay as they are. */
  private async classesIn(
    cluster: string,
    patterns: readonly string[],
  ): Promise<readonly ClassMatch[]> {
    try {
      return (await this.app.sidecar.request(WORKERS, { cluster, patterns })).classes;
    } catch (error) {
      this.app.log.info(`no workers of ${cluster} are shown: ${String(error)}`);
      return [];
    }
  }

  /** With the preset that fits, where that was left open; without one where none does. */
  private async withPreset(draft: Draft): Promise<Draft> {
    if (draft.preset === NO_PRESET) {
      this.proposal = undefined;
      return draft;
    }
    this.proposal = await this.prepare(draft);
    return { ...draft, preset: this.proposal.preset || NO_PRESET };
  }
}

function isFor(field: FormField["field"]): (line: FormLine) => boolean {
  return ({ about }) => about.field === field;
}

/** The line on which Enter was pressed; `at` is the one that is active first. */
function pickLine(
  title: string,
  hint: string,
  lines: readonly FormLine[],
  at: number,
): Promise<FormLine | undefined> {
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { readonly line: FormLine }>();
  pick.title = title;
  pick.placeholder = hint;
  pick.ignoreFocusOut = true;
  pick.matchOnDescription = true;
  const items = lines.map((line) => ({
    label: line.label,
    description: line.description,
    detail: line.detail,
    iconPath: new vscode.ThemeIcon(line.icon),
    line,
  }));
  pick.items = items;
  pick.activeItems = items.slice(at, at + 1);
  return new Promise((resolve) => {
    pick.onDidAccept(() => {
      const [active] = pick.activeItems;
      resolve(active?.line);
      pick.dispose();
    });
    pick.onDidHide(() => {
      resolve(undefined);
      pick.dispose();
    });
    pick.show();
  });
}
