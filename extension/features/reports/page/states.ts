/** The page without a report: its progress, or why it can't be read. */

import { post } from "./editor";
import { button, element, withCode } from "./elements";

export class Loading {
  readonly root: HTMLElement;
  private readonly sentence = element("p", { role: "status" });
  private readonly bar = element("vscode-progress-bar");

  constructor() {
    const cancel = button("Cancel", () => {
      post({ kind: "cancel" });
    });
    this.root = element(
      "section",
      { class: "state" },
      element("h1", {}, "Reading the Report"),
      this.bar,
      this.sentence,
      cancel,
    );
  }

  show(message: string, percentage: number | null): void {
    this.sentence.textContent = percentage === null ? message : `${message}: ${percentage} %`;
    this.bar.indeterminate = percentage === null;
    if (percentage !== null) {
      this.bar.value = percentage;
    }
  }
}

export function failure(message: string, nextStep: string): HTMLElement {
  const again = button(
    "Read It Again",
    () => {
      post({ kind: "again" });
    },
    true,
  );
  const others = (
    [
      ["Open in Nsight Systems", "openInNsight"],
      ["Copy Path", "copyPath"],
      ["Show Logs", "showLogs"],
    ] as const
  ).map(([title, kind]) =>
    button(title, () => {
      post({ kind });
    }),
  );
  return element(
    "section",
    { class: "state", role: "alert" },
    element("h1", {}, "This Report Is Not Shown"),
    element("p", {}, ...withCode(message)),
    ...(nextStep === "" ? [] : [element("p", {}, ...withCode(nextStep))]),
    element("div", { class: "buttons" }, again, ...others),
  );
}
