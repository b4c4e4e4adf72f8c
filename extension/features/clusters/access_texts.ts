/** Which of a cluster's refusals can be answered by the person, and how headers are written. */

/** What to ask for after an error with this code; undefined for those that asking does not help. */
export function askedBy(code: string): "token" | "headers" | "ca_file" | undefined {
  switch (code) {
    case "token-needed":
    case "token-refused":
    case "token-expired":
      return "token";
    case "proxy-refused":
      return "headers";
    case "ca-needed":
    case "bad-ca-file":
      return "ca_file";
    default:
      return undefined;
  }
}

/** A header as a person writes it, `Name: value`. */
export function headerOf(written: string): readonly [name: string, value: string] | undefined {
  // What HTTP allows in a name; a line end in a value would begin another header.
  const match = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*([\x20-\x7e]+?)\s*$/.exec(written);
  const [, name, value] = match ?? [];
  return name === undefined || value === undefined ? undefined : [name, value];
}

export function headerProblem(written: string): string | undefined {
  return headerOf(written) === undefined ? "Write it as Name: value" : undefined;
}
