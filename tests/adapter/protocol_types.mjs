// The Debug Adapter Protocol as its TypeScript types say it: checks messages, and lists the arguments of requests.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const ts = require("typescript");
const TYPES = require.resolve("@vscode/debugprotocol/lib/debugProtocol.d.ts");
const CHECKED = "/messages.ts";
const OPTIONS = {
  strict: true,
  noEmit: true,
  types: [],
  skipLibCheck: true,
  lib: ["lib.es2020.d.ts"],
};

export class Protocol {
  /** The problem of each message that has no place in the protocol, or no such form. */
  problems(messages) {
    const lines = messages.map(
      (message, n) => `const m${n}: DebugProtocol.${nameOf(message)} = ${JSON.stringify(message)};`,
    );
    const text = [`import type { DebugProtocol } from ${JSON.stringify(TYPES)};`, ...lines].join(
      "\n",
    );
    const program = programOf(text);
    return ts.getPreEmitDiagnostics(program).map((found) => {
      const why = ts.flattenDiagnosticMessageText(found.messageText, " ");
      const row = found.file?.getLineAndCharacterOfPosition(found.start).line ?? 0;
      return `${why}: ${lines[row - 1]?.slice(0, 300)}`;
    });
  }

  /** By command, the properties that its arguments have: their names, with "?" where optional, and types. */
  argumentsOf(commands) {
    const names = commands.map((command) => `${capitalized(command)}Arguments`);
    const lines = names.map((name) => `export type ${name} = DebugProtocol.${name};`);
    const program = programOf(
      [`import type { DebugProtocol } from ${JSON.stringify(TYPES)};`, ...lines].join("\n"),
    );
    const checker = program.getTypeChecker();
    const aliases = program.getSourceFile(CHECKED).statements.filter(ts.isTypeAliasDeclaration);
    return Object.fromEntries(
      aliases.map((alias, n) => [commands[n], shape(checker, checker.getTypeAtLocation(alias))]),
    );
  }
}

function shape(checker, type, depth = 0) {
  const plain = checker.getNonNullableType(type);
  if (checker.isArrayType(plain))
    return [shape(checker, checker.getTypeArguments(plain)[0], depth)];
  const kinds = ts.TypeFlags;
  const parts = plain.isUnion() ? plain.types : [plain];
  const all = (flag) => parts.every((part) => part.flags & flag);
  if (all(kinds.StringLike)) return "string";
  if (all(kinds.NumberLike)) return "integer";
  if (all(kinds.BooleanLike)) return "boolean";
  if (depth > 3 || !(plain.flags & kinds.Object)) return "any";
  const properties = checker.getPropertiesOfType(plain).map((property) => {
    const optional = property.flags & ts.SymbolFlags.Optional ? "?" : "";
    return [property.name + optional, shape(checker, checker.getTypeOfSymbol(property), depth + 1)];
  });
  return Object.fromEntries(properties);
}

function nameOf(message) {
  if (message.type === "event") return `${capitalized(message.event)}Event`;
  return message.success ? `${capitalized(message.command)}Response` : "ErrorResponse";
}

function programOf(text) {
  const host = ts.createCompilerHost(OPTIONS);
  const { readFile, fileExists, getSourceFile } = host;
  host.fileExists = (path) => path === CHECKED || fileExists(path);
  host.readFile = (path) => (path === CHECKED ? text : readFile(path));
  host.getSourceFile = (path, ...more) =>
    path === CHECKED ? ts.createSourceFile(path, text, ...more) : getSourceFile(path, ...more);
  return ts.createProgram([CHECKED], OPTIONS, host);
}

function capitalized(word) {
  return word[0].toUpperCase() + word.slice(1);
}

if (process.argv[1] === import.meta.filename) {
  console.log(JSON.stringify(new Protocol().argumentsOf(process.argv.slice(2))));
}
