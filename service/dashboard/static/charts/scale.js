// From data to pixels, and the ticks a person would choose.

import { number } from "../format.js";

export function linear([low, high], [from, to]) {
  const width = high - low || 1;
  const scale = (value) => from + ((value - low) / width) * (to - from);
  scale.invert = (pixel) => low + ((pixel - from) / (to - from)) * width;
  scale.domain = [low, high];
  scale.ticks = (n) => linearTicks(low, high, n);
  scale.format = (value) => number(value);
  return scale;
}

export function log([low, high], range) {
  const inner = linear([Math.log10(low), Math.log10(high)], range);
  const scale = (value) => inner(Math.log10(value));
  scale.invert = (pixel) => 10 ** inner.invert(pixel);
  scale.domain = [low, high];
  scale.ticks = (n) => logTicks(low, high, n);
  scale.format = (value) => number(value);
  return scale;
}

// Positions 0, 1, 2, ... with names.
export function ordinal(values, [from, to]) {
  const inner = linear([-0.5, values.length - 0.5], [from, to]);
  const scale = (value) => inner(values.indexOf(value));
  scale.invert = (pixel) => values[Math.min(values.length - 1, Math.max(0, Math.round(inner.invert(pixel))))];
  scale.domain = values;
  scale.ticks = (n) => values.filter((_, i) => i % Math.ceil(values.length / n) === 0);
  scale.format = (value) => String(value);
  return scale;
}

export function ofParameter(parameter, range) {
  if (parameter.values) return ordinal(parameter.values, range);
  return (parameter.scale === "log" ? log : linear)(parameter.bounds, range);
}

// A little room above and below, also around a single value.
export function padded([low, high], share = 0.06) {
  const room = (high - low) * share || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

export function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? [0, 1] : [low, high];
}

function linearTicks(low, high, n) {
  const rough = (high - low) / Math.max(1, n);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

function logTicks(low, high, n) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  if (last - first < 2) {
    const fine = [first - 1, first, last, last + 1].flatMap((e) => [1, 2, 5].map((m) => m * 10 ** e));
    const inside = [...new Set(fine)].filter((tick) => tick >= low && tick <= high);
    return inside.length >= 3 ? inside : linearTicks(low, high, n);
  }
  const step = Math.ceil((last - first + 1) / Math.max(1, n));
  const ticks = [];
  for (let e = first; e <= last; e += step) ticks.push(10 ** e);
  return ticks;
}
