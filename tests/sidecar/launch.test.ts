// How the sidecar is started, and which Pythons can run it.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  probeArguments,
  sidecarEnvironment,
  sidecarLaunch,
  unusable,
  type Libraries,
  type ProbeAnswer,
} from "../../extension/sidecar/launch";

const CHECKOUT: Libraries = { tags: [] };
const INSTALLED: Libraries = { tags: ["cp310", "cp311"] };
const ANSWER: ProbeAnswer = {
  version: "3.11.2",
  tag: "cp311",
  implementation: "cpython",
  free_threaded: false,
  missing: [],
};

const CASES: readonly (readonly [string, Partial<ProbeAnswer>, Libraries, string | undefined])[] = [
  ["as it should be", {}, CHECKOUT, undefined],
  ["as it should be, installed", {}, INSTALLED, undefined],
  ["too old", { version: "3.9.7", tag: "cp39" }, CHECKOUT, "Python 3.9.7; 3.10 or newer is needed"],
  [
    "too old, installed",
    { version: "3.9.7", tag: "cp39" },
    INSTALLED,
    "Python 3.9.7; 3.10 to 3.14 is needed",
  ],
  [
    "too new, installed",
    { version: "3.15.0", tag: "cp315" },
    INSTALLED,
    "Python 3.15.0; 3.10 to 3.14 is needed",
  ],
  [
    "free-threaded, installed",
    { free_threaded: true },
    INSTALLED,
    "Python 3.11.2; 3.10 to 3.14 is needed",
  ],
  [
    "another implementation",
    { implementation: "pypy" },
    CHECKOUT,
    "pypy 3.11.2; CPython is needed",
  ],
  ["without libraries", { missing: ["pygls", "aiohttp"] }, CHECKOUT, "lacks pygls, aiohttp"],
];

for (const [name, changes, libraries, why] of CASES) {
  test(`a Python ${name}`, () => {
    assert.equal(unusable({ ...ANSWER, ...changes }, libraries), why);
  });
}

test("a checkout runs by its own environment, isolated from the person's", () => {
  assert.deepEqual(sidecarLaunch("/ext", CHECKOUT, "/py", "cp311"), {
    command: "/py",
    args: ["-I", "/ext/pybackend/eagleray_start.py", "sidecar"],
  });
});

test("an installed extension brings its libraries and looks at no site-packages", () => {
  assert.deepEqual(sidecarLaunch("/a b", INSTALLED, "/py", "cp311").args, [
    "-I",
    "-S",
    "/a b/pybackend/eagleray_start.py",
    "--libs",
    "/a b/_libs/any",
    "--libs",
    "/a b/_libs/cp311",
    "sidecar",
  ]);
});

test("only a checkout asks a Python which libraries it has", () => {
  assert.equal(probeArguments(INSTALLED).includes("pygls"), false);
  assert.equal(probeArguments(CHECKOUT).includes("pygls"), true);
});

test("the nsys of the setting reaches the sidecar, an empty one hides none of the environment", () => {
  assert.deepEqual(sidecarEnvironment(" /opt/nsys "), { EAGLERAY_NSYS: "/opt/nsys" });
  assert.deepEqual(sidecarEnvironment(""), {});
});
