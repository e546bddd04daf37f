/** Numbers and labels, as people read them. */

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const rough = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export const count = (n) => (n < 100000 ? whole.format(Math.round(n)) : short.format(n));

export const percent = (share) => `${Math.round(100 * share)} %`;

/** A number of any size, in three digits. */
export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    return value.toExponential(1).replace(".0e", "e").replace("e+", "e");
  }
  return rough.format(value);
}

export const several = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** What a label is called; null is none. */
export const named = (label) => (
  label === null || label === undefined ? "no label" : String(label)
);

/** A label as a key: 1 and "1" are two. */
export const keyOf = (label) => JSON.stringify(label);

/** The first numbers of a row. */
export function numbers(row, most = 4) {
  const shown = row.slice(0, most).map(number).join("  ");
  return row.length > most ? `${shown}  …` : shown;
}
