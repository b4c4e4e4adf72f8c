/** Values of a launch.json, each of the type that it must have. */

import { EaglerayError } from "../../common/errors";

/** A configuration as it stands in launch.json: anything may stand there. */
export type Config = Readonly<Record<string, unknown>>;

export function text(config: Config, name: string): string {
  const value = config[name] ?? "";
  if (typeof value !== "string") {
    throw wrong(`“${name}” of the configuration is no text.`, "Write it in quotes.");
  }
  return value.trim();
}

export function truth(config: Config, name: string): boolean {
  const value = config[name] ?? false;
  if (typeof value !== "boolean") {
    throw wrong(`“${name}” of the configuration is neither true nor false.`, "Write one of them.");
  }
  return value;
}

export function words(config: Config, name: string): readonly string[] {
  const value = config[name] ?? [];
  if (!Array.isArray(value) || !value.every((word) => typeof word === "string")) {
    throw wrong(`“${name}” of the configuration is no list of texts.`, 'Write ["one", "two"].');
  }
  return value;
}

export function ranks(config: Config): readonly number[] | null {
  const value = config["ranks"] ?? null;
  if (value === null) {
    return null;
  }
  if (!Array.isArray(value) || !value.every((rank) => Number.isInteger(rank) && rank >= 0)) {
    throw wrong("“ranks” of the configuration is no list of ranks.", "Write [0, 1].");
  }
  return value as number[];
}

export function environment(config: Config): Readonly<Record<string, string>> {
  const value = config["env"] ?? {};
  const isTexts =
    typeof value === "object" && Object.values(value).every((one) => typeof one === "string");
  if (!isTexts || Array.isArray(value)) {
    throw wrong("“env” of the configuration is no list of variables.", 'Write {"NAME": "value"}.');
  }
  return value as Readonly<Record<string, string>>;
}

export function wrong(message: string, nextStep: string): EaglerayError {
  return new EaglerayError("wrong-launch", message, nextStep);
}
