/** An agent of a file, and the data that it is run with. */

/** A class by its qualified name. */
export interface AgentRef {
  readonly path: string;
  readonly name: string;
}

/** A file with data, and the number of an item in it, which counts from 1. */
export interface ChosenData {
  readonly path: string;
  readonly number: number;
  /** It was pasted or typed: the file is ours. */
  readonly isGiven: boolean;
}

export function isAgent(value: unknown): value is AgentRef {
  const { path, name } = (value ?? {}) as Partial<AgentRef>;
  return typeof path === "string" && typeof name === "string";
}

/** As `eagleray agent` takes it. */
export function targetOf({ path, name }: AgentRef): string {
  return `${path}:${name}`;
}
