// Reads DAP messages as one JSON list from stdin; prints those that don't agree with the protocol's types.
import { readFileSync } from "node:fs";

import { Protocol } from "../adapter/protocol_types.mjs";

console.log(JSON.stringify(new Protocol().problems(JSON.parse(readFileSync(0, "utf8")))));
