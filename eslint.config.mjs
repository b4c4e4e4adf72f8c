// The rules of the TypeScript side; the layers stand in eslint.layers.mjs.
import tseslint from "typescript-eslint";

import layers from "./eslint.layers.mjs";

export default tseslint.config(
  {
    ignores: [
      "node_modules",
      "dist",
      "out",
      ".venv",
      "shared",
      "extension/{clusters,debug,doctor,observe,profile,rollouts,runs}/**/messages.ts",
      "extension/runs/{run_options,presets/page/option_texts}.ts",
    ],
  },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      eqeqeq: "error",
      curly: "error",
      "no-console": "error",
      "@typescript-eslint/explicit-function-return-type": ["error", { allowExpressions: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  ...layers,
  {
    files: ["tests/**/*.ts"],
    rules: {
      "no-console": "off",
      // node:test and mocha return promises from describe() and it() that no code awaits.
      "@typescript-eslint/no-floating-promises": "off",
    },
  },
);
