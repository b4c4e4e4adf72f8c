/** The tabs of values: each follows an expression of one worker from stop to stop. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import { PANELS } from "../../contributions";
import { PageTab, PageTabs, type PageKind } from "../../page/tabs";
import type {
  FromValuePage,
  ShownValue,
  ToValuePage,
  ValuePart,
  ValueRecord,
} from "./value_messages";
import { frameOf, requestValue, type ValueFrame, type ValueStops } from "./value_sessions";

const TAB: PageKind = { script: "value_page", doing: "a value’s page" };
/** A step is over sooner, so that the page doesn't flicker. */
const RUNNING_MS = 500;

/** An expression in a frame of a session. */
interface ViewedValue {
  readonly session: vscode.DebugSession;
  readonly expression: string;
  readonly frame: ValueFrame;
}

export class ValueTabs extends PageTabs<ValueTab> {
  constructor(
    private readonly app: App,
    private readonly stops: ValueStops,
  ) {
    super(PANELS.value);
  }

  /** An open tab of the same expression shows it again. */
  async show(viewed: ViewedValue): Promise<void> {
    const key = `${viewed.session.id} ${viewed.expression}`;
    const present = this.get(key);
    if (present !== undefined) {
      present.focus();
      await present.moveTo(viewed.frame);
      return;
    }
    const panel = this.panel(plain(viewed.expression, 60));
    const open = (expression: string): Promise<void> => this.show({ ...viewed, expression });
    this.add(key, panel, new ValueTab(this.app, panel, viewed, this.stops, open));
  }
}

class ValueTab extends PageTab<FromValuePage, ToValuePage> {
  private frame: ValueFrame;
  private part: Partial<ValuePart> = {};
  private record: ValueRecord = {};
  private old = "";
  private isForced = false;
  private isImage = false;
  private running: NodeJS.Timeout | undefined;
  private requests = 0;

  constructor(
    app: App,
    panel: vscode.WebviewPanel,
    private readonly viewed: ViewedValue,
    stops: ValueStops,
    private readonly open: (expression: string) => Promise<void>,
  ) {
    super(app, panel, TAB, plain(viewed.expression, 60));
    this.frame = viewed.frame;
    this.owned.add(
      stops.onMoved(({ session, threadId }) => {
        if (session.id === viewed.session.id) {
          void this.moved(threadId);
        }
      }),
    );
    this.owned.add(
      vscode.debug.onDidTerminateDebugSession(({ id }) => {
        if (id === viewed.session.id) {
          this.age(
            vscode.l10n.t("The session has ended. This was the value at {0}.", this.frame.place),
          );
        }
      }),
    );
  }

  override dispose(): void {
    clearTimeout(this.running);
    super.dispose();
  }

  async moveTo(frame: ValueFrame): Promise<void> {
    this.frame = frame;
    await this.read();
  }

  protected override async take(message: FromValuePage): Promise<void> {
    switch (message.kind) {
      case "ready":
        if (this.record.type === undefined) {
          await this.read();
        } else {
          this.send();
        }
        break;
      case "force":
        this.isForced = true;
        await this.read();
        break;
      case "part":
        this.part = message.part;
        this.isImage = message.isImage;
        await this.read({ no_statistics: true });
        break;
      case "expand":
        await this.expand(message.expression);
        break;
      case "open":
        await this.open(message.expression);
        break;
    }
  }

  private async moved(threadId: number | undefined): Promise<void> {
    clearTimeout(this.running);
    if (threadId === undefined) {
      this.running = setTimeout(() => {
        this.age(vscode.l10n.t("The worker runs. This was the value at {0}.", this.frame.place));
      }, RUNNING_MS);
      return;
    }
    // Another thread has stopped: the one of the value may still be stopped, too.
    const thread = threadId > 0 ? threadId : this.frame.threadId;
    const { name } = this.frame;
    const frame = await frameOf(this.viewed.session, thread, { name }).catch(() => undefined);
    if (frame !== undefined) {
      // Running code of the program needs another click.
      this.isForced = false;
      await this.moveTo(frame);
    }
  }

  private async read(more: { readonly no_statistics?: boolean } = {}): Promise<void> {
    const number = ++this.requests;
    const { session, expression } = this.viewed;
    const forced = this.isForced ? { allow_all: true } : {};
    const question = { frameId: this.frame.id, expression, ...this.part, ...more, ...forced };
    let record: ValueRecord;
    try {
      record = await requestValue(session, question);
    } catch (error) {
      const reason = plain(error instanceof Error ? error.message : String(error), 300);
      if (number === this.requests) {
        this.age(reason);
      }
      return;
    }
    if (number !== this.requests) {
      return;
    }
    const isRead = record.error === undefined || this.record.type === undefined;
    if (isRead) {
      const { statistics } = this.record;
      this.record =
        more.no_statistics === true && statistics !== undefined
          ? { ...record, statistics }
          : record;
    }
    this.old = isRead
      ? ""
      : vscode.l10n.t("Not read at {0}: {1}", this.frame.place, plain(record.error ?? ""));
    this.send();
  }

  private async expand(expression: string): Promise<void> {
    const record = await requestValue(this.viewed.session, {
      frameId: this.frame.id,
      expression,
    }).catch((error: unknown): ValueRecord => ({ error: String(error) }));
    this.post({ kind: "children", expression, record });
  }

  /** Shows the last numbers as old, with the reason. */
  private age(why: string): void {
    this.old = why;
    this.send();
  }

  private send(): void {
    const shown: ShownValue = {
      expression: this.viewed.expression,
      worker: plain(this.viewed.session.name),
      place: this.frame.place,
      record: this.record,
      old: this.old,
      isImage: this.isImage,
    };
    this.post({ kind: "value", shown });
  }
}
