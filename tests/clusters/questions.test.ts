// Questions of ssh, against a fake sidecar and editor.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import {
  ANSWER,
  QUESTION,
  QUESTION_OVER,
  type SshQuestion,
} from "../../extension/clusters/messages";
import { settled, type FakeApp } from "../fakes/app";
import { registerClusters, registeredForEach } from "../fakes/registered";
import { editor } from "../fakes/vscode";

let fake: FakeApp;

registeredForEach(registerClusters, (made) => {
  fake = made;
});

/** Asks, and waits until the code for questions is read. */
async function ask(changes: Partial<SshQuestion>): Promise<void> {
  fake.sidecar.notify(QUESTION, {
    id: 1,
    ssh: "login",
    prompt: "Enter passphrase for key '/home/alice/.ssh/id_ed25519': ",
    kind: "secret",
    ...changes,
  });
  await settled();
}

test("a passphrase is typed unseen, sent once, and stored nowhere", async () => {
  await ask({});
  const [box] = editor.boxes;
  assert.deepEqual(
    [box?.title, box?.prompt, box?.password, box?.ignoreFocusOut, box?.open],
    ["SSH to login", "Enter passphrase for key '/home/alice/.ssh/id_ed25519':", true, true, true],
  );
  box?.enter("s3cret");
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(ANSWER), [{ id: 1, text: "s3cret" }]);
  assert.deepEqual([box?.open, box?.disposed], [false, true]);
  assert.doesNotMatch(fake.log.text, /s3cret/);
  assert.equal(fake.secrets.values.size, 0);
});

test("a rejected answer is logged without its text", async () => {
  fake.sidecar.on(ANSWER, () => {
    throw new EaglerayError("adapter-lost", "It ended.");
  });
  await ask({});
  editor.boxes[0]?.enter("s3cret");
  await settled();
  assert.match(fake.log.text, /question 1 was not taken/);
  assert.doesNotMatch(fake.log.text, /s3cret/);
});

test("a code is visible while it is typed", async () => {
  await ask({ kind: "text", prompt: "Verification code: " });
  assert.equal(editor.boxes[0]?.password, false);
});

test("Escape is the answer “cancelled”", async () => {
  await ask({});
  editor.boxes[0]?.hide();
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(ANSWER), [{ id: 1, text: null }]);
});

test("questions come one after another, and one that is over goes away unanswered", async () => {
  await ask({ id: 1 });
  await ask({ id: 2 });
  await ask({ id: 3 });
  assert.equal(editor.boxes.length, 1);
  fake.sidecar.notify(QUESTION_OVER, { id: 2 });
  fake.sidecar.notify(QUESTION_OVER, { id: 1 });
  await settled();
  assert.deepEqual(
    editor.boxes.map((box) => box.open),
    [false, true],
  );
  editor.boxes[1]?.enter("x");
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(ANSWER), [{ id: 3, text: "x" }]);
});

test("a host key is shown line by line in a dialog, and Enter does not trust it", async () => {
  const prompt =
    "The authenticity of host 'login (10.0.0.1)' can't be established.\n" +
    "ED25519 key fingerprint is SHA256:abc.\nContinue connecting (yes/no/[fingerprint])? ";
  editor.answer = ({ buttons }) => buttons[1];
  await ask({ kind: "confirm", prompt });
  await settled();
  const [dialog] = editor.asked;
  assert.equal(dialog?.text, "Trust the unknown host login?");
  assert.deepEqual(dialog.buttons, ["Don't Connect", "Trust and Connect"]);
  assert.deepEqual(dialog.options, { modal: true, detail: prompt.split("\nContinue")[0] });
  editor.answer = ({ buttons }) => buttons[0];
  await ask({ id: 2, kind: "confirm", prompt });
  await settled();
  editor.answer = () => undefined;
  await ask({ id: 3, kind: "confirm", prompt });
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(ANSWER), [
    { id: 1, text: "yes" },
    { id: 2, text: null },
    { id: 3, text: null },
  ]);
});

test("a dialog whose question is over answers no request", async () => {
  let click: (title: string) => void = () => undefined;
  editor.answer = () =>
    new Promise((resolve) => {
      click = resolve;
    });
  await ask({ kind: "confirm", prompt: "Continue?" });
  fake.sidecar.notify(QUESTION_OVER, { id: 1 });
  click("Yes");
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(ANSWER), []);
});

test("a notice is shown until it is over, beside a question", async () => {
  await ask({ id: 10, kind: "notice", prompt: "Confirm user presence for key ED25519-SK" });
  await ask({ id: 11 });
  const [notice] = editor.progresses;
  assert.equal(notice?.options.title, "SSH to login: Confirm user presence for key ED25519-SK");
  assert.equal(editor.boxes.length, 1);
  fake.sidecar.notify(QUESTION_OVER, { id: 10 });
  await settled();
  assert.deepEqual([notice.ended, fake.sidecar.sentTo(ANSWER)], [true, []]);
});

test("when the sidecar ends, all questions are over", async () => {
  await ask({ id: 10, kind: "notice" });
  await ask({ id: 1 });
  await ask({ id: 2 });
  fake.sidecar.state.set("failed");
  await settled();
  assert.deepEqual(
    editor.boxes.map((box) => box.open),
    [false],
  );
  assert.equal(editor.progresses[0]?.ended, true);
  assert.deepEqual(fake.sidecar.sentTo(ANSWER), []);
});

test("a prompt from the host is shown as plain text", async () => {
  await ask({
    kind: "text",
    prompt: "\u001b[2J$(trash) [yes](command:x)\r\nPasscode: ",
    ssh: "$(x)",
  });
  const [box] = editor.boxes;
  assert.doesNotMatch(`${box?.title}${box?.prompt}`, /\$\(|\]\(|[\n\u001b]/);
  assert.match(box?.prompt ?? "", / · Passcode:$/);
});
