// Reads the texts of TypeScript sources: those that are translated, and those that look as if they should be.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

import ts from "typescript";

const OPTIONS = {
  strict: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
};

/** `{ texts, problems }`: the sorted first arguments of `l10n.t`, and calls whose text isn't a literal. */
export function textsOf(folder) {
  const texts = new Set();
  const problems = [];
  for (const { name, source } of sourcesIn(folder)) {
    visit(source, (node) => {
      if (!isTranslation(node)) return;
      const text = literalOf(messageOf(node));
      if (text !== undefined) texts.add(text);
      else problems.push(`${place(name, source, node)}: the text of l10n.t is no literal`);
    });
  }
  return { texts: [...texts].sort(), problems };
}

/**
 * `[{ file, line, text }]`: literals for users that no call of `l10n.t` translates.  No text are one of several
 * given strings, which the program tells apart, and a `Verbatim`: what goes to the log, code, a path.
 */
export function untranslated(folder) {
  const sources = sourcesIn(folder);
  const options = { ...OPTIONS, noEmit: true };
  const files = sources.map(({ source }) => source.fileName);
  const program = ts.createProgram(files, options);
  const checker = program.getTypeChecker();
  return sources.flatMap(({ name, source: { fileName } }) => {
    const source = program.getSourceFile(fileName);
    const found = [];
    visit(source, (node) => {
      if (isTranslation(node) || isForTheLog(node) || ts.isImportDeclaration(node)) return false;
      if (ts.isTypeNode(node) || ts.isExportDeclaration(node)) return false;
      const text = shownText(node);
      if (text !== undefined && !isName(node) && !isVerbatim(checker, node)) {
        found.push({ file: name, line: lineOf(source, node), text });
        return false;
      }
    });
    return found;
  });
}

/** Properties and calls whose value the editor shows, even a single word. */
const SHOWN = new Set([
  ...["title", "label", "description", "detail", "tooltip", "placeHolder", "placeholder", "prompt"],
  ...["message", "spoken", "openLabel", "saveLabel", "buttons", "ariaLabel"],
]);
const SENTENCE = /[A-Za-z“”’]{2,}[,:;.]? [A-Za-z“”’]/;
const WORD = /[A-Za-z]{3,}/;

/** The text of a literal that a user reads, as far as that can be seen; undefined for others. */
function shownText(node) {
  const text = ts.isTemplateExpression(node)
    ? [node.head.text, ...node.templateSpans.map((span) => span.literal.text)].join("…")
    : literalOf(node);
  if (text === undefined) return undefined;
  const { parent } = node;
  const isShown =
    (ts.isPropertyAssignment(parent) && SHOWN.has(parent.name.getText())) ||
    (ts.isCallExpression(parent) &&
      /\.show\w+(Message|Pick|Box)$/.test(parent.expression.getText()));
  return SENTENCE.test(text) || (isShown && WORD.test(text)) ? text : undefined;
}

/** The name of a property, or what something is compared with. */
function isName({ parent, ...node }) {
  if (ts.isPropertyAssignment(parent)) return parent.name.pos === node.pos;
  if (ts.isCaseClause(parent)) return true;
  return ts.isBinaryExpression(parent) && COMPARISONS.has(parent.operatorToken.kind);
}

const COMPARISONS = new Set([
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
]);

/** Whether only some strings are allowed here, or a `Verbatim` (extension/common/texts.ts) is expected. */
function isVerbatim(checker, node) {
  const expected = checker.getContextualType(node);
  const kinds = expected?.isUnion() ? expected.types : expected === undefined ? [] : [expected];
  return (
    kinds.some((kind) => kind.isStringLiteral() && kind.value === node.text) ||
    [expected, ...kinds].some((kind) => kind?.aliasSymbol?.name === "Verbatim")
  );
}

/** Logs are in English, and so are errors of programming, and what is done while an error is logged. */
function isForTheLog(node) {
  if (ts.isStringLiteralLike(node)) return isDoing(node);
  if (ts.isNewExpression(node)) return /^(Type|Range)?Error$/.test(node.expression.getText());
  return (
    ts.isCallExpression(node) &&
    /(^|\.)(log|(log|channel|trace)\.(trace|debug|info|warn|error|append|appendLine))$/.test(
      node.expression.getText(),
    )
  );
}

/** In a table of commands the text after the id, and in calls of ErrorMessages and of actions the one that names the work. */
function isDoing({ parent }) {
  if (ts.isArrayLiteralExpression(parent)) {
    return parent.elements[0]?.getText().startsWith("COMMANDS.") === true;
  }
  return (
    ts.isCallExpression(parent) &&
    /(errors\.(show|shown)|restoreTabs|\.act|\.send|requestAction)$/.test(
      parent.expression.getText(),
    )
  );
}

function isTranslation(node) {
  return ts.isCallExpression(node) && /^(vscode\.)?l10n\.t$/.test(node.expression.getText());
}

/** The message: the first argument, or its property `message`. */
function messageOf({ arguments: [first] }) {
  if (first === undefined || !ts.isObjectLiteralExpression(first)) return first;
  const named = (property) => property.name?.getText() === "message";
  return first.properties.find(named)?.initializer;
}

function literalOf(node) {
  return node !== undefined && ts.isStringLiteralLike(node) ? node.text : undefined;
}

function sourcesIn(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".ts"))
    .sort()
    .map((name) => {
      const file = join(folder, name);
      const text = readFileSync(file, "utf8");
      return { name, source: ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true) };
    });
}

/** Calls `take` for every node; what it returns false for is not entered. */
function visit(node, take) {
  if (take(node) !== false) ts.forEachChild(node, (child) => visit(child, take));
}

function lineOf(source, node) {
  return source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
}

function place(name, source, node) {
  return `${relative(".", name)}:${lineOf(source, node)}`;
}
