/** The wizard of “Connect to Cluster…”: a pick list of jobs, hosts and the address that is typed. */

import * as vscode from "vscode";
import type { CancellationToken } from "vscode";

import type { App } from "../app";
import { asEaglerayError, isCancellation } from "../common/errors";
import { plain, type Verbatim } from "../common/texts";
import { longWork } from "../dialogs";
import { pickOrType, type PickRow } from "../typed_picker";
import { addressProblem } from "./address";
import {
  addressAction,
  addSections,
  hostSections,
  jobHostSections,
  type ChoiceAction,
  type Section,
} from "./choices";
import type { ClusterConnector } from "./cluster_connector";
import { CHOICES, LOOK_AT, type Choices, type Cluster } from "./messages";
import { problemOf } from "./rows";

/** Errors of an address that can't be a cluster, whatever runs there. */
const NEVER = new Set(["bad-address", "bad-route"]);

export class AddClusterWizard {
  constructor(
    private readonly app: App,
    private readonly connecting: ClusterConnector,
  ) {}

  /** Scripts may pass the address, and get the error; without one the user chooses, and a failure is shown. */
  async add(given: unknown): Promise<Cluster | undefined> {
    if (typeof given === "string") {
      const { address, title } = addressAction(given.trim());
      return this.connecting.connect(address, title);
    }
    for (;;) {
      const offered = new OfferedChoices(this.app);
      const chosen = await this.address(await this.choose(offered), offered);
      switch (chosen?.kind) {
        case "address":
          return this.connect(chosen);
        case "edit":
          return this.enterAddress(chosen.typed);
        case "loginNode":
          if (!(await this.addLoginNode(chosen.host))) {
            return undefined;
          }
          // Its jobs are among the choices now.
          break;
        case "showLog":
          this.app.log.show();
          return undefined;
        default:
          return undefined;
      }
    }
  }

  /** Watches the given or chosen host for jobs; false when the user cancels. */
  async addLoginNode(given: string | undefined): Promise<boolean> {
    const host = given ?? (await this.chooseHost());
    if (host === undefined) {
      return false;
    }
    await longWork(vscode.l10n.t("Searching for SLURM jobs on {0}", plain(host)), (options) =>
      this.app.sidecar.request(LOOK_AT, { host }, options),
    );
    return true;
  }

  /** A failure is shown with buttons that continue with the same address. */
  private async connect(
    action: ChoiceAction & { readonly kind: "address" },
    anyway = false,
  ): Promise<Cluster | undefined> {
    const { address, title } = action;
    try {
      return await this.connecting.connect(address, title, anyway);
    } catch (error) {
      const edit = {
        title: vscode.l10n.t("Edit Address…"),
        run: () => this.shown(() => this.enterAddress(address)),
      };
      const add = {
        title: vscode.l10n.t("Add Anyway"),
        run: () => this.shown(() => this.connect(action, true)),
      };
      const isPossible = !anyway && !NEVER.has(asEaglerayError(error).code);
      this.app.errors.show(error, DOING, edit, ...(isPossible ? [add] : []));
      return undefined;
    }
  }

  private shown(work: () => Promise<unknown>): Promise<unknown> {
    return this.app.errors.shown(DOING, work);
  }

  private async enterAddress(typed: string): Promise<Cluster | undefined> {
    const entered = (await addressBox(typed))?.trim() ?? "";
    return entered === "" ? undefined : this.connect(addressAction(entered));
  }

  private choose(offered: OfferedChoices): Promise<ChoiceAction | undefined> {
    return pickOrType({
      title: vscode.l10n.t("Connect to a Ray cluster"),
      placeholder: vscode.l10n.t(
        "Select, or type an address: 8265, host:8265, https://…, ssh://host/8265",
      ),
      rows: (typed) => itemsOf(addSections(offered.choices, offered.isComplete, typed)),
      load: (cancel) => offered.load(cancel),
    });
  }

  /** A chosen host leads to a second question; anything else is the answer. */
  private async address(
    chosen: ChoiceAction | undefined,
    { choices }: OfferedChoices,
  ): Promise<ChoiceAction | undefined> {
    if (chosen?.kind !== "host") {
      return chosen;
    }
    const { host } = chosen;
    const isPolled = choices.polled_hosts.includes(host);
    return pickOrType({
      title: vscode.l10n.t("Connect through {0}", plain(host)),
      placeholder: vscode.l10n.t(
        "Select, or type an address as that host knows it: 8265, node-1:8265",
      ),
      rows: (typed) => itemsOf(hostSections(host, isPolled, typed)),
    });
  }

  private async chooseHost(): Promise<string | undefined> {
    const offered = new OfferedChoices(this.app);
    const chosen = await pickOrType({
      title: vscode.l10n.t("Add a SLURM login node"),
      placeholder: vscode.l10n.t("Select a host, or type one as for ssh"),
      rows: (typed) => itemsOf(jobHostSections(offered.choices, typed)),
      load: (cancel) => offered.load(cancel),
    });
    return chosen?.kind === "loginNode" ? chosen.host : undefined;
  }
}

const DOING: Verbatim = "adding a cluster";

/** The choices: at first the panel's, then all. */
class OfferedChoices {
  choices: Choices;
  isComplete = false;

  constructor(private readonly app: App) {
    const { jobs, hosts } = app.clusters.value;
    const polled_hosts = hosts.map(({ host }) => host);
    this.choices = { jobs, ssh_hosts: [], polled_hosts, problems: [] };
  }

  /** An error is one of the choices, so that an address can still be typed. */
  async load(cancel: CancellationToken): Promise<void> {
    try {
      this.choices = await this.app.sidecar.request(CHOICES, {}, { cancel });
      this.isComplete = true;
    } catch (error) {
      if (!isCancellation(error)) {
        this.choices = { ...this.choices, problems: [problemOf(asEaglerayError(error))] };
      }
    }
  }
}

function itemsOf(sections: readonly Section[]): readonly PickRow<ChoiceAction>[] {
  return sections.flatMap(({ title, choices }) => [
    { label: title, kind: vscode.QuickPickItemKind.Separator },
    ...choices.map(({ label, description, detail, icon, action, isAlwaysShown }) => ({
      label,
      description,
      detail,
      iconPath: new vscode.ThemeIcon(icon),
      alwaysShow: isAlwaysShown === true,
      ...(action !== undefined && { value: action }),
    })),
  ]);
}

/** Asks for an address; unlike showInputBox, it shows at once what is wrong with the given one. */
function addressBox(typed: string): Promise<string | undefined> {
  const box = vscode.window.createInputBox();
  box.title = vscode.l10n.t("Connect to a Ray cluster");
  box.prompt = vscode.l10n.t("Address of the Ray dashboard");
  box.placeholder = "8265, host:8265, https://…, ssh://host/8265, slurm://12345";
  box.ignoreFocusOut = true;
  box.value = typed;
  const check = (text: string): void => {
    box.validationMessage = text.trim() === "" ? undefined : addressProblem(text);
  };
  check(typed);
  return new Promise((resolve) => {
    box.onDidChangeValue(check);
    box.onDidAccept(() => {
      if (box.validationMessage === undefined) {
        resolve(box.value);
        box.hide();
      }
    });
    box.onDidHide(() => {
      resolve(undefined);
      box.dispose();
    });
    box.show();
  });
}
