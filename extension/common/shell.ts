/** Words of a POSIX shell. */

/** The word in quotes where it needs some; a value that others wrote could have anything in it. */
export function quoted(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'"'"'`)}'`;
}
