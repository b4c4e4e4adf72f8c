// Sets up development: npm packages, .venv with the `eagleray` command, and the bundle.
// `npm run setup -- --all` adds the requirements of single suites: editors, browser, lab, old Ray, proofs.
import { environments, makeEnvironment } from "./environments.mjs";
import { makeNsys } from "./nsys.mjs";
import { makeBrowser, makeBundle, makeEditor, makeLab, makeNodePackages } from "./packages.mjs";
import { endWithChildren } from "./run.mjs";

endWithChildren();
const all = process.argv.includes("--all");

await Promise.all([
  makeNodePackages().then(makeBundle),
  all
    ? Object.keys(environments).reduce(
        (before, name) => before.then(() => makeEnvironment(name)),
        Promise.resolve(),
      )
    : makeEnvironment("dev"),
]);
if (all) {
  await makeBrowser();
  await makeLab();
  await makeNsys();
  await makeEditor("1.139");
  await makeEditor("1.105");
}
console.log("Ready. The command line is .venv/bin/eagleray; `npm run demo` shows the rest.");
