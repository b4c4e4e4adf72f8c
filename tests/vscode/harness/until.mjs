/** Waits for conditions; the error of one that times out contains its name. */

/** A step of a second on a quiet machine may take a minute beside other suites on a slow one. */
export const LIMIT_MS = 200_000;

/** Waits until `condition()` is truthy and returns its value; an exception counts as "not yet". */
export async function until(condition, what, limitMs = LIMIT_MS, everyMs = 100) {
  const end = Date.now() + limitMs;
  let last;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) {
      throw new Error(
        `waited ${limitMs / 1000} s until ${what}${last ? ` (${last.message.split("\n")[0]})` : ""}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** The result of `work`, or an error after `limitMs`; the work then continues unobserved. */
export async function within(work, limitMs, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no end in ${limitMs / 1000} s`)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
