// The pseudo-language: every letter has an accent, so that a text without one was not translated.

/** The tag that VS Code's own pseudo-language has. */
export const PSEUDO = "qps-ploc";

const PLAIN = "AaBbCcDdEeFfGgHhIiJjKkLlMmNnOoPpQqRrSsTtUuVvWwXxYyZz";
const ACCENTED = "ÀàƁƀĆćĎďĒēƑƒĞğĤĥĨĩĴĵĶķĹĺḾḿŃńŌōṔṕɊɋŔŕŚśŢţŨũṼṽŴŵẊẋŶŷŹź";

/** Parts that stay as they are: placeholders, links to commands and pages, icons, code. */
const FIXED = /\{\w+\}|\]\([^)]*\)|\$\([\w~-]+\)|`[^`]*`/g;

/** `text` in the pseudo-language, in brackets that show where a text was cut or put together. */
export function pseudo(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(FIXED)) {
    parts.push(accented(text.slice(end, match.index)), match[0]);
    end = match.index + match[0].length;
  }
  return ["⟦", ...parts, accented(text.slice(end)), "⟧"].join("");
}

function accented(text) {
  return [...text].map((letter) => ACCENTED[PLAIN.indexOf(letter)] ?? letter).join("");
}
