// Numbers and times for people; the exact ones stay within reach, in titles and in the CSV.

import { h } from "./dom.js";

const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

export function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return scientific(value, digits);
  const decimals = size >= 1 ? Math.max(0, digits - 1 - Math.floor(Math.log10(size))) : digits;
  return plain(Number.isInteger(value) ? 0 : decimals).format(value).replace("-", "−");
}

const FORMATS = new Map(); // making one costs more than a hundred uses
function plain(decimals) {
  if (!FORMATS.has(decimals)) FORMATS.set(decimals, new Intl.NumberFormat("en", { maximumFractionDigits: decimals }));
  return FORMATS.get(decimals);
}

function scientific(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const power = [...String(Number(exponent))].map((c) => SUPERSCRIPT[c]).join("");
  return `${String(Number(mantissa)).replace("-", "−")}×10${power}`;
}

export function count(value, one, many = `${one}s`) {
  return `${value.toLocaleString("en")} ${value === 1 ? one : many}`;
}

export function percent(share) {
  return share > 0 && share < 0.01 ? "<1 %" : `${Math.round(100 * share)} %`;
}

export function seconds(value) {
  if (value < 1) return `${number(1000 * value, 3)} ms`;
  return value < 120 ? `${number(value, 3)} s` : `${number(value / 60, 3)} min`;
}

// A parameter's value: numbers shortened, everything else as it is.
export function parameterValue(value) {
  return typeof value === "number" ? number(value, 5) : String(value);
}

const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function time(iso) {
  if (!iso) return "–";
  const utc = `${iso.slice(0, 19).replace("T", " ")} UTC`;
  return h("time", { datetime: iso, title: utc }, LOCAL.format(new Date(iso)));
}

export function shorten(text, length) {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}
