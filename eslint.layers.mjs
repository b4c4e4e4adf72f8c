// Who may import whom in extension/; tests/layers plants violations and sees each one caught.

const features = ["clusters", "workers", "debugging", "source_mapping", "runs", "pdb", "profiling"];

const noVscode = { regex: "^vscode$", message: "This part knows nothing of the editor." };
const onlySidecar = [
  { regex: "^vscode-languageclient", message: "Only extension/sidecar speaks to the sidecar." },
  { regex: "^(node:)?child_process$", message: "Only extension/sidecar starts processes." },
];
const noFeatures = {
  regex: "(^|/)features/(?!\\w+/messages$)",
  message: "What features share sinks to extension/common; the wiring stands in main.ts.",
};
const noSidecar = { regex: "(^|/)\\.\\./sidecar(/|$)", message: "common/ stands below sidecar/." };

/** What of the sidecar's part decides, and so is tested without editor and processes. */
const decisions = ["answer_errors", "connection", "interpreter", "launch", "status", "wanted"];

function otherFeaturesThan(feature) {
  const others = features.filter((name) => name !== feature).join("|");
  return {
    regex: `(^|/)\\.\\./(features/)?(${others})(/(?!messages$)|$)`,
    message: "Features do not import one another, except for the wire types.",
  };
}

function restrict(files, patterns) {
  return { files, rules: { "no-restricted-imports": ["error", { patterns }] } };
}

/** `import()` is seen by none of these rules. */
const onlyNeighbours = {
  selector: "ImportExpression:not([source.value=/^\\.\\/\\w+\\.js$/])",
  message: "Only a file of the same folder is read later.",
};

// The last entry that matches a file counts, so each one names all that holds for its files.
export default [
  { files: ["extension/**/*.ts"], rules: { "no-restricted-syntax": ["error", onlyNeighbours] } },
  restrict(["extension/*.ts"], [...onlySidecar]),
  restrict(["extension/common/**/*.ts"], [noVscode, ...onlySidecar, noFeatures, noSidecar]),
  restrict(["extension/sidecar/**/*.ts"], [noFeatures]),
  restrict(
    decisions.map((name) => `extension/sidecar/${name}.ts`),
    [noVscode, ...onlySidecar, noFeatures],
  ),
  ...features.flatMap((name) => [
    restrict([`extension/features/${name}/**/*.ts`], [...onlySidecar, otherFeaturesThan(name)]),
    restrict(
      [`extension/features/${name}/{*_,}model.ts`, `extension/features/${name}/announcing.ts`],
      [noVscode, ...onlySidecar, otherFeaturesThan(name)],
    ),
  ]),
];
