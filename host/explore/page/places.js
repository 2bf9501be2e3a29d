// Coordinates with more digits than a 64-bit number has: decimal texts, to which numbers are added.

const PLACES = 60;

/** A number or a decimal text in units of 10^-PLACES. */
function scaled(value) {
  const text = typeof value === "number" ? value.toFixed(PLACES) : value.trim();
  const [, sign, whole, fraction = ""] = /^([+-]?)(\d*)\.?(\d*)$/.exec(text) ?? ["", "", "0"];
  const size = BigInt(whole + fraction.slice(0, PLACES).padEnd(PLACES, "0"));
  return sign === "-" ? -size : size;
}

/** The sum of two of these as a text with `places` digits after the point, the last one rounded. */
export function sum(a, b, places) {
  const all = scaled(a) + scaled(b), unit = 10n ** BigInt(PLACES - places), size = ((all < 0n ? -all : all) + unit / 2n) / unit;
  const digits = String(size).padStart(places + 1, "0"), whole = digits.slice(0, digits.length - places);
  return `${all < 0n && size > 0n ? "-" : ""}${whole}${places ? `.${digits.slice(-places)}` : ""}`;
}

/** The number nearest to a + b - c. */
export const rest = (a, b, c) => Number(scaled(a) + scaled(b) - scaled(c)) / 10 ** PLACES;

/** Digits after the point with which the server takes a text as it is, instead of the nearest 64-bit number, and that tell apart places so far from each other. */
export const placesFor = (apart) => Math.min(PLACES - 10, Math.max(24, Math.ceil(-Math.log10(apart)) + 4));
