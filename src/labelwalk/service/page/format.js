/** Numbers and labels as text. */

const integer = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const decimal = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export const formatCount = (n) => (
  n < 100000 ? integer.format(Math.round(n)) : compact.format(n)
);

export const formatPercent = (share) => `${Math.round(100 * share)} %`;

/** A number of any size with three digits. */
export function formatNumber(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    return value.toExponential(1).replace(".0e", "e").replace("e+", "e");
  }
  return decimal.format(value);
}

export const pluralize = (n, singular, plural = `${singular}s`) => (
  `${formatCount(n)} ${n === 1 ? singular : plural}`
);

export const formatLabel = (label) => (
  label === null || label === undefined ? "no label" : String(label)
);

/** A label as a key: 1 and "1" differ. */
export const labelKey = (label) => JSON.stringify(label);

/** The first values of a row. */
export function formatRow(row, limit = 4) {
  const text = row.slice(0, limit).map(formatNumber).join("  ");
  return row.length > limit ? `${text}  …` : text;
}
