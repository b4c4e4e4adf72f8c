// The allowed imports in extension/; tests/layers plants violations and sees each one caught.

/** The features in the order in which they may import one another: each only those before it. */
const features = [
  "clusters",
  "workers",
  "source_mapping",
  "debugging",
  "pdb",
  "inspections",
  "runs",
  "presets",
  "profiling",
  "reports",
  "hangs",
  "inference",
  "rollouts",
  "doctor",
  "first_run",
];

const noVscode = {
  regex: "^vscode$",
  // It translates texts, and does the same in a unit test.
  allowImportNames: ["l10n"],
  message: "This part knows nothing of the editor but its language.",
};
const noEditor = {
  regex: "^vscode$",
  message: "A page runs in a frame; the editor sends it messages.",
};
const onlySidecar = [
  { regex: "^vscode-languageclient", message: "Only extension/sidecar speaks to the sidecar." },
  { regex: "^(node:)?child_process$", message: "Only extension/sidecar starts processes." },
];
const noFeatures = {
  regex: "(^|/)features/(?!\\w+/messages$)",
  message: "common/, sidecar/ and page/ are below the features; main.ts connects them.",
};
const noSidecar = { regex: "(^|/)\\.\\./sidecar(/|$)", message: "common/ stands below sidecar/." };

/** Files of a feature that decide or write texts, and so are tested without an editor. */
const pure = [
  "{*_,}rows",
  "{*_,}model",
  "{address,choices,launch_file,launch_json,parse_input,program_python}",
];

/** The modules of the sidecar's part that decide, and so are tested without editor and processes. */
const decisions = ["connection", "interpreter", "launch"];

function laterThan(feature) {
  const later = features.slice(features.indexOf(feature) + 1).join("|");
  return {
    regex: later === "" ? "(?!)" : `(^|/)\\.\\./(features/)?(${later})(/(?!messages$)|$)`,
    message: `A feature imports only those before it: ${features.join(" < ")}. Wire types may be imported from all.`,
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
  restrict(["extension/page/**/*.ts"], [...onlySidecar, noFeatures]),
  restrict(["extension/page/frame/**/*.ts"], [noEditor, ...onlySidecar, noFeatures]),
  restrict(
    decisions.map((name) => `extension/sidecar/${name}.ts`),
    [noVscode, ...onlySidecar, noFeatures],
  ),
  ...features.flatMap((name) => [
    restrict([`extension/features/${name}/**/*.ts`], [...onlySidecar, laterThan(name)]),
    restrict(
      pure.map((file) => `extension/features/${name}/**/${file}.ts`),
      [noVscode, ...onlySidecar, laterThan(name)],
    ),
  ]),
];
