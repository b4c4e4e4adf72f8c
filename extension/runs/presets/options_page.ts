/** The tabs “Run options”: each asks what is started and how, checks it while it is typed, and starts it. */

import { basename, dirname } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { asEaglerayError, isCancellation } from "../../common/errors";
import type { TextDocuments } from "../../text_documents";
import { plain } from "../../common/texts";
import { COMMANDS, PANELS } from "../../contributions";
import { PageTab, type PageKind } from "../../page/tabs";
import { windowName } from "../../workspace";
import { WORKERS, type ClassMatch } from "../../profile/recordings/messages";
import { NO_PRESET, type Draft } from "../draft";
import { gutterBreakpoints } from "../gutter_breakpoints";
import { keepOptions } from "../last_options";
import { askForPython, programPython } from "../interpreters";
import { INTERPRETER } from "../messages";
import type { RunStarter } from "../run_starter";
import type { FixedDraft } from "./fixed_settings";
import { patternsOf } from "../parse_input";
import { freeName, withConfiguration } from "./launch_file";
import { LIST_PRESETS, type OptionsCheck, type PresetRow, type Proposal } from "./messages";
import { configurationOf, draftOfForm, formOf } from "./options_drafts";
import {
  formFrom,
  fromPage,
  type FromOptionsPage,
  type InterpreterNote,
  type PageFacts,
  type PageFix,
  type PageProblem,
  type PathField,
  type OptionsSection,
  type ToOptionsPage,
} from "./options_messages";
import { mistakesOf, type Field, type OptionsForm } from "./options_model";
import { interpreterText } from "./options_texts";
import { reviewTexts } from "./review_model";
import { RunChecks } from "./run_checks";
import { saveAnswers } from "./user_presets";

/** Called after each start from a page, with the id of the run. */
export type AfterStart = (run: string, draft: Draft, proposal: Proposal) => Promise<void>;

interface PageContent {
  readonly form: OptionsForm;
  readonly fix?: PageFix;
  readonly open: readonly OptionsSection[];
  readonly after?: AfterStart | undefined;
}

/** Owns the open pages: one for each file. */
export class OptionsPages {
  private readonly pages = new Set<OptionsPage>();

  constructor(
    private readonly app: App,
    private readonly starting: RunStarter,
    private readonly documents: TextDocuments,
  ) {}

  /** Opens the page of a file with the options of `draft`; an open page of that file is filled again. */
  show(draft: Draft, file: string, open: readonly OptionsSection[], after?: AfterStart): void {
    this.open({ form: formOf(draft, file), open, after });
  }

  private open(content: PageContent): void {
    const page = [...this.pages].find((entry) => entry.file === content.form.file);
    if (page !== undefined) {
      page.fill(content);
      return;
    }
    const panel = vscode.window.createWebviewPanel(PANELS.runOptions, "", vscode.ViewColumn.Active);
    this.add(panel, content);
  }

  /** As `show`, with what a fix has changed of the options of `draft`, which can be undone. */
  showFixed(
    { draft: fixed, differences }: FixedDraft,
    draft: Draft,
    file: string,
    open: readonly OptionsSection[],
  ): void {
    const undo = formOf(draft, file);
    this.open({ form: formOf(fixed, file), open, fix: { differences, undo } });
  }

  /** A page that was open before the window was reloaded, as it was. */
  revive(panel: vscode.WebviewPanel, state: unknown): void {
    const { form: stored, open } = (state ?? {}) as { form?: unknown; open?: unknown };
    const form = formFrom(stored);
    if (form === undefined) {
      panel.dispose();
      return;
    }
    const sections = Array.isArray(open) ? SECTIONS.filter((entry) => open.includes(entry)) : [];
    this.add(panel, { form, open: sections });
  }

  private add(panel: vscode.WebviewPanel, content: PageContent): void {
    const page = new OptionsPage(this.app, this.starting, this.documents, panel, content);
    this.pages.add(page);
    panel.onDidDispose(() => {
      this.pages.delete(page);
    });
  }
}

const SECTIONS: readonly OptionsSection[] = ["breakpoints", "shorten", "record"];

const PAGE: PageKind = { script: "options_page", doing: "the options of a run" };

class OptionsPage extends PageTab<unknown, ToOptionsPage> {
  private checking: vscode.CancellationTokenSource | undefined;
  private presets: readonly PresetRow[] = [];
  private classes: readonly ClassMatch[] = [];
  private python = "";
  private interpreter: InterpreterNote | null = null;
  private readonly checks: RunChecks;
  private examined = 0;
  private isStarting = false;

  constructor(
    app: App,
    private readonly starting: RunStarter,
    private readonly documents: TextDocuments,
    panel: vscode.WebviewPanel,
    private content: PageContent,
  ) {
    super(app, panel, PAGE, titleOf(content));
    const sendFacts = (): void => {
      this.post({ kind: "facts", facts: this.facts });
    };
    this.checks = this.owned.add(new RunChecks(app, sendFacts));
    const sendContent = (): void => {
      void this.app.errors.shown("the options of a run", () => this.sendContent());
    };
    this.owned.add(app.clusters.onChanged(sendFacts));
    this.owned.add(vscode.debug.onDidChangeBreakpoints(sendFacts));
    this.owned.add(vscode.workspace.onDidGrantWorkspaceTrust(sendContent));
    this.owned.add(
      app.sidecar.onStarted(() => {
        this.post({ kind: "recheck" });
      }),
    );
    panel.title = this.title;
  }

  get file(): string {
    return this.content.form.file;
  }

  fill(content: PageContent): void {
    this.content = content;
    this.panel.title = this.title;
    this.panel.reveal();
    void this.app.errors.shown("the options of a run", () => this.sendContent());
  }

  override dispose(): void {
    super.dispose();
    this.cancelCheck();
  }

  private get title(): string {
    return titleOf(this.content);
  }

  private get facts(): PageFacts {
    const { clusters } = this.app.clusters.value;
    return {
      clusters: clusters.map(({ id, name }) => ({ id, name: plain(name) })),
      presets: this.presets.map(({ name, title, own }) => ({
        name,
        title: plain(title),
        isOwn: own,
      })),
      breakpoints: gutterBreakpoints().flatMap(({ path, lines }) =>
        lines.map(({ line }) => `${basename(path)}:${line}`),
      ),
      classes: this.classes.map((entry) => ({ ...entry, name: plain(entry.name) })),
      python: this.python,
      interpreter: this.interpreter,
      checks: this.checks.note,
    };
  }

  protected override async take(sent: unknown): Promise<void> {
    const message = fromPage(sent);
    if (message === undefined) {
      this.app.log.warn("a message of the options page was ignored");
    } else if (message.kind === "ready") {
      await this.sendContent();
    } else if (message.kind === "manageTrust") {
      await vscode.commands.executeCommand("workbench.trust.manage");
    } else if (vscode.workspace.isTrusted) {
      await this.follow(message);
    }
  }

  /** Handles the requests of a page in a trusted workspace. */
  private async follow(message: FromOptionsPage): Promise<void> {
    if ("form" in message) {
      this.content = { ...this.content, form: message.form };
      this.panel.title = this.title;
      this.checks.update(draftOfForm(message.form));
    }
    switch (message.kind) {
      case "check":
        void this.examinePython(message.form);
        await this.check(message.number, message.form);
        break;
      case "edit":
        void this.examinePython(message.form);
        await this.keep(message.form);
        await this.check(message.number, message.form);
        break;
      case "start":
        await this.start(message.form);
        break;
      case "saveLaunch":
        await this.saveLaunch(message.form);
        break;
      case "savePreset":
        await this.savePreset(message.form);
        break;
      case "showDiff":
        await this.showDiff(message.form);
        break;
      case "compose":
        await this.compose(message.form);
        break;
      case "browse":
        await this.browse(message.field, message.form);
        break;
      case "showBreakpoints":
        await vscode.commands.executeCommand("workbench.debug.action.focusBreakpointsView");
        break;
      case "runChecks":
        await this.checks.make(draftOfForm(message.form));
        break;
      case "showChecks":
        await this.checks.show();
        break;
      case "managePresets":
        await vscode.commands.executeCommand(COMMANDS.presets);
        await this.readPresets();
        break;
      default:
        this.app.log.show();
    }
  }

  private async sendContent(): Promise<void> {
    if (!vscode.workspace.isTrusted) {
      this.post({ kind: "untrusted" });
      return;
    }
    const { form, open, fix = null } = this.content;
    this.post({ kind: "content", form, open, facts: this.facts, fix });
    this.python = (await programPython(this.app, draftOfForm(form))).path;
    await this.readPresets();
  }

  private async readPresets(): Promise<void> {
    const workspace = windowName();
    this.presets = (await this.app.sidecar.request(LIST_PRESETS, { workspace })).presets;
    this.post({ kind: "facts", facts: this.facts });
  }

  /** Kept for “Debug on Ray” once every field is valid; a configuration of launch.json changes nothing else. */
  private async keep(form: OptionsForm): Promise<void> {
    const isOfLaunch = this.content.after !== undefined;
    if (form.file !== "" && !isOfLaunch && mistakesOf(form).size === 0) {
      await keepOptions(this.app, form.file, draftOfForm(form));
    }
  }

  /** Beside the check, which doesn't wait for a slow Python; a later form supersedes it.  The sidecar keeps answers. */
  private async examinePython(form: OptionsForm): Promise<void> {
    this.examined += 1;
    const number = this.examined;
    const note = await this.noteOfPython(form);
    if (number === this.examined) {
      this.interpreter = note;
      this.post({ kind: "facts", facts: this.facts });
    }
  }

  private async noteOfPython(form: OptionsForm): Promise<InterpreterNote> {
    const draft = draftOfForm(form);
    const named = draft.python;
    try {
      const python = named || (await programPython(this.app, draft)).path;
      const request = { python, cwd: draft.cwd, env: draft.env };
      const facts = await this.app.sidecar.request(INTERPRETER, request);
      const state = facts.ray === "" ? "warning" : "ok";
      return { python: named, text: interpreterText(facts), state };
    } catch (error) {
      const { message } = asEaglerayError(error);
      return { python: named, text: plain(message, 200), state: "error" };
    }
  }

  /** Answers with what is wrong, and what would be started; a later form cancels it. */
  private async check(number: number, form: OptionsForm): Promise<void> {
    this.cancelCheck();
    const cancel = new vscode.CancellationTokenSource();
    this.checking = cancel;
    const fields = [...mistakesOf(form).keys()];
    if (fields.some((field) => !isOfRecording(field))) {
      this.post({ kind: "checked", number, problems: [], preview: null });
      return;
    }
    // The rest of the start is shown while the recording isn't described yet.
    const draft = draftOfForm(fields.length > 0 ? { ...form, record: false } : form);
    try {
      const [answer, classes] = await Promise.all([
        this.starting.check(draft, { cancel: cancel.token }),
        form.record ? this.classesFor(form) : this.classes,
      ]);
      if (!cancel.token.isCancellationRequested) {
        this.classes = classes;
        this.checks.setPorts(answer.ports);
        this.post({ kind: "facts", facts: this.facts });
        this.post({ kind: "checked", number, ...shown(answer) });
        if (isReady(answer) && isOfThisMachine(draft)) {
          this.checks.makeSoon(draft);
        }
      }
    } catch (error) {
      if (!isCancellation(error) && !cancel.token.isCancellationRequested) {
        const text = plain(asEaglerayError(error).sentence, 600);
        const problems = [{ field: "", text, blocks: false }] as const;
        this.post({ kind: "checked", number, problems, preview: null });
      }
    }
  }

  private cancelCheck(): void {
    this.checking?.cancel();
    this.checking?.dispose();
    this.checking = undefined;
  }

  /** The classes of its cluster; for a program of this machine, of all clusters that are known. */
  private async classesFor({ cluster, recordWorkers }: OptionsForm): Promise<ClassMatch[]> {
    const clusters = this.app.clusters.value.clusters.map(({ id }) => id);
    const ids = cluster !== "" || clusters.length === 0 ? [cluster] : clusters;
    const patterns = patternsOf(recordWorkers);
    const lists = await Promise.all(ids.map((id) => this.classesIn(id, patterns)));
    return mergedClasses(lists);
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

  private async start(form: OptionsForm): Promise<void> {
    if (this.isStarting || mistakesOf(form).size > 0) {
      return;
    }
    this.isStarting = true;
    const starting = (question: string): void => {
      this.post({ kind: "starting", isOn: true, question });
    };
    starting("");
    try {
      await this.keep(form);
      const draft = draftOfForm(form);
      const proposal = await this.starting.prepare(draft);
      const run = await this.starting.start(proposal, draft, form.file, {
        asking: starting,
        nsysEntered: (path) => {
          this.post({ kind: "chosen", field: "nsys", path });
        },
      });
      if (run !== undefined) {
        this.announce(vscode.l10n.t("{0} was started.", plain(proposal.name)));
        await this.content.after?.(run, draft, proposal);
      }
    } finally {
      this.isStarting = false;
      this.post({ kind: "starting", isOn: false, question: "" });
    }
  }

  private async saveLaunch(form: OptionsForm): Promise<void> {
    if (mistakesOf(form).size > 0) {
      return;
    }
    const folder = folderOf(form.file || form.cwd);
    if (folder === undefined) {
      void vscode.window.showInformationMessage(
        vscode.l10n.t("Open a folder to save a launch configuration."),
      );
      return;
    }
    const draft = draftOfForm(form);
    const proposal = await this.starting.prepare(draft);
    const preset = draft.preset === NO_PRESET ? NO_PRESET : proposal.preset || NO_PRESET;
    const kind = draft.kind === "" && proposal.confirm !== "" ? "sbatch" : draft.kind;
    const uri = vscode.Uri.joinPath(folder.uri, ".vscode", "launch.json");
    const text = await textOfFile(uri);
    const name = freeName(text, launchName({ ...draft, preset }, nameOf(form)));
    const configuration = inFolder(
      configurationOf({ ...draft, preset, kind }, name),
      folder.uri.fsPath,
    );
    const content = withConfiguration(text, configuration);
    const open = vscode.l10n.t("Open launch.json");
    if (content === undefined) {
      const message = vscode.l10n.t("launch.json has no list of configurations.");
      if ((await vscode.window.showErrorMessage(message, open)) === open) {
        await vscode.window.showTextDocument(uri);
      }
      return;
    }
    await vscode.workspace.fs.writeFile(uri, Buffer.from(content, "utf8"));
    this.announce(vscode.l10n.t("{0} was saved to launch.json.", plain(name)));
    const message = vscode.l10n.t("“{0}” was saved to launch.json.", plain(name));
    if ((await vscode.window.showInformationMessage(message, open)) === open) {
      await vscode.window.showTextDocument(uri);
    }
  }

  private async savePreset(form: OptionsForm): Promise<void> {
    if (mistakesOf(form).size === 0) {
      const draft = draftOfForm(form);
      await saveAnswers(this.app, draft, await this.starting.prepare(draft));
      await this.readPresets();
    }
  }

  /** Both texts as documents of the editor. */
  private async showDiff(form: OptionsForm): Promise<void> {
    if (mistakesOf(form).size > 0) {
      return;
    }
    const proposal = await this.starting.prepare(draftOfForm(form));
    const { before, after } = reviewTexts(proposal);
    const name = plain(proposal.title).replaceAll("/", "∕");
    await vscode.commands.executeCommand(
      "vscode.diff",
      this.documents.put(`/before/${name}`, before),
      this.documents.put(`/with/${name}`, after),
      plain(vscode.l10n.t("{0} (unchanged ↔ {1})", name, proposal.preset)),
      { preview: true },
    );
  }

  private async compose(form: OptionsForm): Promise<void> {
    try {
      const { values } = await this.starting.compose(draftOfForm(form));
      const rows = Object.entries(values).map(
        ([key, value]) => [plain(key), plain(value)] as const,
      );
      this.post({ kind: "composed", rows });
    } catch (error) {
      if (!isCancellation(error)) {
        this.post({ kind: "notComposed", reason: plain(asEaglerayError(error).sentence, 900) });
      }
    }
  }

  /** A Python is selected in a list, a file or folder in a dialog. */
  private async browse(field: PathField, form: OptionsForm): Promise<void> {
    if (field === "python") {
      const python = await askForPython(this.app, draftOfForm(form));
      if (python !== undefined) {
        this.post({ kind: "chosen", field, path: python });
      }
      return;
    }
    const isFolder = field === "cwd" || field === "output";
    const now = form[field].startsWith("/") ? form[field] : form.cwd;
    const [picked] =
      (await vscode.window.showOpenDialog({
        title: BROWSE_TITLES[field](),
        openLabel: vscode.l10n.t("Select"),
        canSelectFiles: !isFolder,
        canSelectFolders: isFolder,
        ...(now.startsWith("/") && {
          defaultUri: vscode.Uri.file(isFolder || now === form.cwd ? now : dirname(now)),
        }),
      })) ?? [];
    if (picked !== undefined) {
      this.post({ kind: "chosen", field, path: picked.fsPath });
    }
  }

  private announce(sentence: string): void {
    this.post({ kind: "announcement", sentence });
  }
}

const BROWSE_TITLES: Readonly<Record<Exclude<PathField, "python">, () => string>> = {
  path: () => vscode.l10n.t("Select the file to run"),
  cwd: () => vscode.l10n.t("Select the folder that the program runs in"),
  nsys: () => vscode.l10n.t("Select the nsys program"),
  output: () => vscode.l10n.t("Select the folder for reports"),
};

function isOfRecording(field: Field): boolean {
  const own: readonly Field[] = ["steps", "seconds", "trace", "nsys", "nsysOptions"];
  return field.startsWith("record") || own.includes(field);
}

/** Whether the command is complete and no scheduler is asked for nodes. */
function isReady({ problems, proposal }: OptionsCheck): boolean {
  return proposal?.confirm === "" && !problems.some(({ blocks }) => blocks);
}

function isOfThisMachine({ kind }: Draft): boolean {
  return kind !== "job" && kind !== "remote" && kind !== "sbatch";
}

/** The answer of the sidecar as the page shows it. */
function shown({ problems, proposal, nsys }: OptionsCheck): {
  readonly problems: readonly PageProblem[];
  readonly preview: (ToOptionsPage & { kind: "checked" })["preview"];
} {
  return {
    problems: problems.map(({ field, message, next_step, blocks }) => ({
      field: field as Field,
      text: plain(`${message} ${next_step}`, 600),
      blocks,
    })),
    preview: proposal && {
      before: proposal.before,
      after: proposal.after,
      changes: proposal.changes,
      questions: proposal.questions,
      preset: proposal.preset,
      framework: plain(`${proposal.framework} ${proposal.framework_version}`),
      confirm: proposal.confirm,
      nsys: plain(nsys),
    },
  };
}

/** The classes of several clusters, each once. */
export function mergedClasses(lists: readonly (readonly ClassMatch[])[]): ClassMatch[] {
  const classes = new Map<string, ClassMatch>();
  for (const entry of lists.flat()) {
    const running = entry.running + (classes.get(entry.name)?.running ?? 0);
    classes.set(entry.name, { ...entry, running });
  }
  return [...classes.values()];
}

function titleOf({ form }: PageContent): string {
  return vscode.l10n.t("Run options: {0}", nameOf(form));
}

/** The name of the program in titles. */
function nameOf({ file, path, args }: OptionsForm): string {
  const name = basename(file || path) || args.split(/\s/u)[0] || "";
  return plain(name) || vscode.l10n.t("a command");
}

function launchName({ preset, profile }: Draft, program: string): string {
  if (profile !== null) {
    return vscode.l10n.t("Ray: profile {0}", program);
  }
  return preset === NO_PRESET
    ? vscode.l10n.t("Ray: debug {0}", program)
    : vscode.l10n.t("Ray: short test of {0}", program);
}

function folderOf(path: string): vscode.WorkspaceFolder | undefined {
  const uri = path.startsWith("/") ? vscode.Uri.file(path) : undefined;
  return (
    (uri && vscode.workspace.getWorkspaceFolder(uri)) ?? vscode.workspace.workspaceFolders?.[0]
  );
}

/** With `${workspaceFolder}` in place of the folder, so that others can use the configuration. */
function inFolder(
  configuration: Readonly<Record<string, unknown>>,
  folder: string,
): Record<string, unknown> {
  const relative = (value: unknown): unknown =>
    typeof value === "string" && (value === folder || value.startsWith(`${folder}/`))
      ? `\${workspaceFolder}${value.slice(folder.length)}`
      : value;
  return Object.fromEntries(
    Object.entries(configuration).map(([name, value]) => [name, relative(value)]),
  );
}

/** "" for a missing file; one that cannot be read is an error, as it would be overwritten. */
async function textOfFile(uri: vscode.Uri): Promise<string> {
  try {
    return Buffer.from(await vscode.workspace.fs.readFile(uri)).toString("utf8");
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === "FileNotFound") {
      return "";
    }
    throw error;
  }
}
