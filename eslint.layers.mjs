// The allowed imports in extension/; tests/layers plants violations and sees each one caught.

/** The folders of the areas in the order in which they may import one another: each only those before it. */
const features = [
  "clusters",
  "debug/workers",
  "debug/source_mapping",
  "debug/attaching",
  "debug/pdb",
  "runs",
  "runs/presets",
  "profile/recordings",
  "profile/reports",
  "observe/look_inside",
  "observe/hangs",
  "rollouts/servers",
  "rollouts",
  "doctor",
  "first_run",
];
const areas = [...new Set(features.map((name) => name.split("/")[0]))];

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
  { regex: "^vscode-jsonrpc", message: "Only extension/sidecar speaks to the sidecar." },
  { regex: "^(node:)?child_process$", message: "Only extension/sidecar starts processes." },
];
const noFeatures = {
  regex: `(^|/)\\.\\./(${areas.join("|")})/(?!([\\w/]+/)?messages$)`,
  message: "common/, sidecar/ and page/ are below the areas; main.ts connects them.",
};
const noSidecar = { regex: "(^|/)\\.\\./sidecar(/|$)", message: "common/ stands below sidecar/." };

/** Files of an area that decide or write texts, and so are tested without an editor. */
const pure = [
  "{*_,}rows",
  "{*_,}model",
  "{address,choices,launch_file,launch_json,parse_input,program_python}",
];

/** The modules of the sidecar's part that decide, and so are tested without editor and processes. */
const decisions = ["connection", "interpreter", "launch"];

function laterThan(feature) {
  const [area] = feature.split("/");
  const later = features.slice(features.indexOf(feature) + 1).map((name) => {
    const [otherArea, room] = name.split("/");
    if (otherArea !== area) return `\\.\\./${name}`;
    // One of the same area; an area whose own files come after a room of it is a level up.
    return room === undefined ? "^\\.\\.(?=/\\w)" : `\\.{1,2}/${room}`;
  });
  return {
    regex: later.length === 0 ? "(?!)" : `(^|/)(${later.join("|")})(/(?!(\\w+/)?messages$)|$)`,
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
  // Rooms of an area after the area's own files, which their pattern contains.
  ...features
    .toSorted((a, b) => a.split("/").length - b.split("/").length)
    .flatMap((name) => [
      restrict([`extension/${name}/**/*.ts`], [...onlySidecar, laterThan(name)]),
      restrict(
        pure.map((file) => `extension/${name}/**/${file}.ts`),
        [noVscode, ...onlySidecar, laterThan(name)],
      ),
    ]),
];
