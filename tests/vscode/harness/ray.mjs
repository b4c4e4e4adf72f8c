/** A real Ray cluster and a driver on it that executes commands, for tests inside and outside the editor. */

import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { until } from "./until.mjs";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..", "..");

/** The Python of the checkout, or the one that EAGLERAY_PYTHON names. */
export function python() {
  return process.env.EAGLERAY_PYTHON || path.join(ROOT, ".venv", "bin", "python");
}

/** Starts scripts/ray_cluster.py; `{ address, gcs_address, session, folder, mark, stop() }`. */
export async function startCluster(...options) {
  const script = path.join(ROOT, "scripts", "ray_cluster.py");
  const child = spawn(python(), [script, ...options], { stdio: ["pipe", "pipe", "inherit"] });
  const line = await firstLine(child, "the Ray cluster");
  return {
    ...JSON.parse(line),
    stop: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await ended;
    },
  };
}

/** Starts tests/fakes/proxy.py before a dashboard, its files in `folder`; `{ address, ca_file, header, stop() }`. */
export async function startProxy(dashboard, folder) {
  const args = ["-m", "tests.fakes.proxy", new URL(dashboard).port, folder];
  const child = spawn(python(), args, { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] });
  return {
    ...JSON.parse(await firstLine(child, "the proxy")),
    stop: () => child.stdin.end(),
  };
}

function firstLine(child, what) {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("error", reject);
    child.once("exit", (code) =>
      reject(new Error(`${what} ended with ${code} before it was there`)),
    );
  });
}

/** The environment in which a program finds `cluster` and no other. */
export function programEnv(cluster) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("RAY_"));
  return {
    ...Object.fromEntries(inherited),
    EAGLERAY_RAY_CLUSTER: cluster.mark,
    RAY_ADDRESS: cluster.gcs_address,
    RAY_AUTH_MODE: "disabled",
    PYTHONUNBUFFERED: "1",
  };
}

/** The environment in which Eagleray finds the cluster and no other, with a state of its own. */
export function eaglerayEnv(cluster, home) {
  return {
    EAGLERAY_RAY_CLUSTER: cluster.mark,
    EAGLERAY_HOME: home,
    EAGLERAY_DISCOVERY: "off",
    RAY_API_SERVER_ADDRESS: cluster.address,
    RAY_ADDRESS: "",
    RAY_AUTH_MODE: "disabled",
  };
}

/** Starts a program on the cluster; it ends with its cluster at the latest. */
export function startProgram(cluster, interpreter, file, ...args) {
  const child = spawn(interpreter, [file, ...args], {
    cwd: path.dirname(file),
    env: programEnv(cluster),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
  return {
    running: () => child.exitCode === null,
    end: () => child.kill("SIGKILL"),
    /** Waits until it has printed `text`. */
    prints: (text) =>
      until(
        () => {
          if (child.exitCode !== null)
            throw new Error(`it ended with ${child.exitCode}: ${output}`);
          return output.includes(text);
        },
        `${path.basename(file)} prints ${text}`,
        120_000,
      ),
    /** Waits until it has ended with 0 and has printed `text`. */
    endsSuccessfully: async (text) => {
      await until(() => child.exitCode !== null, `${path.basename(file)} has ended`, 120_000);
      if (child.exitCode !== 0 || !output.includes(text))
        throw new Error(`it ended with ${child.exitCode}: ${output}`);
    },
  };
}

/** Starts `driver.py` of `folder` and returns the driver once it is connected. */
export async function startDriver(cluster, folder, ...args) {
  const driver = new Driver(cluster, folder, args);
  await driver.waitForLine((line) => line.ready, "the driver is connected");
  return driver;
}

/** Ends with its cluster at the latest. */
class Driver {
  lines = [];
  next = 1;

  constructor(cluster, folder, args) {
    this.log = "";
    this.child = spawn(python(), [path.join(folder, "driver.py"), ...args], {
      cwd: folder,
      env: programEnv(cluster),
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.child.stderr.on("data", (data) => (this.log = (this.log + data).slice(-4000)));
    this.child.stdin.on("error", () => {});
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      if (line.startsWith("{")) this.lines.push(JSON.parse(line));
    });
  }

  /** Makes policy workers by name; `rank` is null for none. */
  async actors(named) {
    for (const [name, rank] of Object.entries(named)) this.send({ do: "actor", name, rank });
    for (const name of Object.keys(named)) {
      await this.waitForLine((line) => line.made === name, `the worker ${name} lives`);
    }
  }

  /** Calls a method: `returned()` is its result or undefined, `result()` waits for it. */
  call(name, method, ...args) {
    const id = this.next++;
    this.send({ do: "call", id, name, method, args });
    return {
      returned: () => this.lines.find((line) => line.id === id),
      result: () => this.waitForLine((line) => line.id === id, `${name}.${method} returns`),
    };
  }

  send(command) {
    this.child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  waitForLine(isWanted, what) {
    return until(
      () => {
        const line = this.lines.find(isWanted);
        if (!line && this.child.exitCode !== null) throw new Error(`the driver ended: ${this.log}`);
        return line;
      },
      what,
      120_000,
    );
  }

  async stop() {
    if (this.child.exitCode !== null) return;
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    await ended;
  }
}

/** The number of the line of `file` that carries `[mark]`. */
export function lineOf(file, mark) {
  const lines = fs.readFileSync(file, "utf8").split("\n");
  return lines.findIndex((line) => line.includes(`[${mark}]`)) + 1;
}
