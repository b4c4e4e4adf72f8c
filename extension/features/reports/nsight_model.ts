/** Which of several installed versions of Nsight Systems is the newest. */

/** Folders such as "2024.5.1" and "2025.1"; what does not begin with a number comes last. */
export function newestFirst(names: readonly string[]): string[] {
  return [...names].sort((one, other) => compared(numbersOf(other), numbersOf(one)));
}

function numbersOf(name: string): number[] {
  return (/^\d+(\.\d+)*/u.exec(name)?.[0] ?? "")
    .split(".")
    .filter((part) => part !== "")
    .map(Number);
}

function compared(one: readonly number[], other: readonly number[]): number {
  const length = Math.max(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const difference = (one[at] ?? -1) - (other[at] ?? -1);
    if (difference !== 0) {
      return difference;
    }
  }
  return 0;
}
